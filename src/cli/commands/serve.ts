import type { Dispatcher } from '../../core/service/webhooks/dispatcher.ts';
import type { Runtime } from '../../runtime.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { Observing } from '../../servers/observe/index.ts';
import { type Call, type Context, defineCommand, flag, text, texts } from '../command.ts';
import { observe } from '../observe.ts';
import { parseOneOf } from '../one-of.ts';
import { parseCount } from '../point.ts';
import { drain, untilInterrupted } from '../runs/until-interrupted.ts';
import { parseWorkerOptions, workerOptions } from '../runs/worker-options.ts';

const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const;

const options = {
  host: text('ADDRESS', 'where to listen; 127.0.0.1 without it, so that only this machine can ask'),
  port: text('N', 'another port than 4730; 0 for any that is free'),
  'no-worker': flag('only serve; `perdure worker` works elsewhere'),
  ...workerOptions,
  'allow-host': texts('NAME', 'a further name under which the server may be asked'),
  log: text('LEVEL', `what it logs on stderr, as JSON: ${logLevels.join(', ')}; info without it`),
  'allow-origin': texts('ORIGIN', 'a site whose pages may ask, such as https://app.example.org'),
};

const usualPort = 4730;
const triedPorts = 20;
/** How often it is looked for workspaces that were added elsewhere. */
const lookMs = 5000;

/** Sends to the webhooks of every workspace there is, and of those that come. */
class Dispatchers {
  readonly #runtime: Runtime;
  readonly #running = new Map<string, Dispatcher>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => {
      // A store that is away is looked at again.
      this.#looking = this.#look().catch(() => {});
    }, lookMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all([...this.#running.values()].map((dispatcher) => dispatcher.stop()));
  }

  async #look(): Promise<void> {
    for (const { id } of await this.#runtime.workspaces.list()) {
      if (this.#running.has(id)) continue;
      const dispatcher = this.#runtime.as({ workspace: id, member: 'local', role: 'admin' }).dispatcher();
      this.#running.set(id, dispatcher);
      await dispatcher.start();
    }
  }
}

const listen = async (
  runtime: Runtime,
  context: Context,
  { options: given }: Call<typeof options>,
  observing: Observing,
) => {
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
      ...observing.server,
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

/** Of the first start on a store: nobody could ask otherwise. Made when all else has succeeded, since it is shown this once. */
const firstKey = async (context: Context): Promise<string | undefined> => {
  const { members, keys } = await context.runtime();
  if ((await keys.list()).length > 0) return undefined;
  await members.add({ id: 'local', role: 'admin' }).catch((error) => {
    if (!isPerdureError(error, 'CONFLICT')) throw error; // it is there already
  });
  const { key, token } = await keys.create({ member: 'local', role: 'admin', name: 'first' });
  // Of two first starts at once the key that came first stays, and who made it shows it.
  const [first] = await keys.list();
  if (first?.id === key.id) return token;
  await keys.revoke(key.id);
  return undefined;
};

export const serve = defineCommand({
  name: 'serve',
  summary: 'serve sessions over HTTP, and work on their runs',
  args: [],
  options,
  notes: [
    'The first start on a store makes an admin key and shows it once; `perdure keys create` makes more.',
    'Spans of runs, model calls and tool calls are sent where OTEL_EXPORTER_OTLP_ENDPOINT is set.',
    'Ctrl-C stops it: streams end, steps under way may end, and runs go on where the next worker is.',
  ],
  examples: ['perdure serve', 'perdure serve --port 8080 --no-worker'],
  makesStore: true,
  isLocal: true,
  run: async (context, call) => {
    const wanted = await parseWorkerOptions(context, call.options);
    const observing = await observe(context, parseOneOf('--log', logLevels, call.options.log));
    const runtime = await context.wholeRuntime({ ...observing.runtime, warn: observing.warn });
    const working = call.options['no-worker'] ? undefined : runtime.worker(wanted);
    const { stopped, release } = untilInterrupted(context, working);
    const server = await listen(runtime, context, call, observing);
    const dispatchers = new Dispatchers(runtime);
    try {
      await dispatchers.start();
      await working?.start();
      const token = await firstKey(context);
      await context.answer({ url: server.url, ...(token && { key: token }) }, () => [
        `serving ${context.storeName()} at ${server.url}`,
        ...(token ? ['', `admin key, shown this once: ${token}`, ''] : []),
        `  export PERDURE_KEY=${token ?? 'pdk_…'}`,
        `  perdure ls --server ${server.url}`,
        `  ${server.url}/v1/docs`,
      ]);
      await stopped;
    } finally {
      await Promise.all([server.stop(), working && drain(context, working)]);
      await dispatchers.stop();
      await observing.stop();
      release();
    }
    return undefined;
  },
});
