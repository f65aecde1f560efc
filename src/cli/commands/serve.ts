import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { type Call, type Context, defineCommand, flag, text, texts } from '../command.ts';
import { parseCount } from '../point.ts';

const options = {
  host: text('ADDRESS', 'where to listen; 127.0.0.1 without it, so that only this machine can ask'),
  port: text('N', 'another port than 4730; 0 for any that is free'),
  'no-worker': flag('only serve; `perdure worker` works elsewhere'),
  concurrency: text('N', 'sessions worked on at once in a workspace, 4 without it'),
  'allow-host': texts('NAME', 'a further name under which the server may be asked'),
  'allow-origin': texts('ORIGIN', 'a site whose pages may ask, such as https://app.example.org'),
};

const usualPort = 4730;
const triedPorts = 20;
/** How often it is looked for workspaces that were added elsewhere. */
const lookMs = 5000;

/** Works for every workspace there is, and those that come. */
class Workers {
  readonly #runtime: Runtime;
  readonly #concurrency: number | undefined;
  readonly #working = new Map<string, ReturnType<Runtime['worker']>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(runtime: Runtime, concurrency: number | undefined) {
    this.#runtime = runtime;
    this.#concurrency = concurrency;
  }

  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => {
      this.#looking = this.#look().catch(() => {});
    }, lookMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all([...this.#working.values()].map((worker) => worker.stop()));
  }

  async #look(): Promise<void> {
    for (const { id } of await this.#runtime.workspaces.list()) {
      if (this.#working.has(id)) continue;
      const worker = this.#runtime
        .as({ workspace: id, member: 'local', role: 'admin' })
        .worker({ concurrency: this.#concurrency });
      this.#working.set(id, worker);
      await worker.start();
    }
  }
}

const listen = async (runtime: Runtime, context: Context, { options: given }: Call<typeof options>) => {
  const { serveHttp } = await import('../../servers/http/index.ts');
  const port = parseCount('--port', given.port, 0);
  const tryPort = (wanted: number) =>
    serveHttp(runtime, {
      port: wanted,
      ...(given.host !== undefined && { host: given.host }),
      allowHosts: given['allow-host'] ?? [],
      allowOrigins: given['allow-origin'] ?? [],
      store: context.storeName(),
      worksHere: !given['no-worker'],
    });
  if (port !== undefined) return tryPort(port);
  for (let tried = usualPort; ; tried++) {
    try {
      return await tryPort(tried);
    } catch (error) {
      if (!(error instanceof PerdureError) || error.details.port === undefined || tried === usualPort + triedPorts)
        throw error;
    }
  }
};

/** Of the first start on a store: nobody could ask otherwise. */
const firstKey = async (context: Context): Promise<string | undefined> => {
  const { members, keys } = await context.runtime();
  if ((await keys.list()).length > 0) return undefined;
  if (!(await members.list()).some(({ id }) => id === 'local')) await members.add({ id: 'local', role: 'admin' });
  return (await keys.create({ member: 'local', role: 'admin', name: 'first' })).token;
};

export const serve = defineCommand({
  name: 'serve',
  summary: 'serve sessions over HTTP, and work on their runs',
  args: [],
  options,
  notes: [
    'The first start on a store makes an admin key and shows it once; `perdure keys create` makes more.',
    'Ctrl-C stops it: streams end, and runs under way go on where the next worker is.',
  ],
  examples: ['perdure serve', 'perdure serve --port 8080 --no-worker', 'perdure ls --server http://127.0.0.1:4730'],
  makesStore: true,
  run: async (context, call) => {
    const concurrency = parseCount('--concurrency', call.options.concurrency, 1);
    const stopped = Promise.withResolvers<void>();
    const release = context.onInterrupt(() => stopped.resolve());
    const runtime = await context.wholeRuntime();
    const token = await firstKey(context);
    const server = await listen(runtime, context, call);
    const workers = call.options['no-worker'] ? undefined : new Workers(runtime, concurrency);
    try {
      await workers?.start();
      await context.answer({ url: server.url, ...(token && { key: token }) }, () => [
        `serving ${context.storeName()} at ${server.url}`,
        ...(token ? ['', `admin key, shown this once: ${token}`, ''] : []),
        `  export PERDURE_KEY=${token ?? 'pdk_…'}`,
        `  perdure ls --server ${server.url}`,
        `  ${server.url}/v1/docs`,
      ]);
      await stopped.promise;
    } finally {
      await server.stop();
      await workers?.stop();
      release();
    }
    return undefined;
  },
});
