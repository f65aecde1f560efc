import { z } from 'zod';
import type { Runtime } from '../../../runtime.ts';
import { PerdureError } from '../../../schema/error.ts';
import type { Observing } from '../../../servers/observe/index.ts';
import { observe } from '../../backing/observe.ts';
import { type Call, type Context, choice, defineCommand, flag, text, texts } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { awaitInterrupt, drain } from '../../runs/interrupt.ts';
import { parseWorkerOptions, refuseWithoutWorker, workerOptions } from '../../runs/worker-options.ts';
import { Dispatchers } from '../../serve/dispatchers.ts';
import { firstKey } from '../../serve/first-key.ts';
import { greetingOf } from '../../serve/greeting.ts';

const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const;

const options = {
  host: text('ADDRESS', 'where to listen; default 127.0.0.1, which only this machine can reach'),
  port: text('N', 'the port, or 0 for any that is free; default 4730'),
  'no-worker': flag('only serve; start `perdure worker` to work on runs'),
  ...workerOptions,
  'allow-host': texts('NAME', 'another host name that the server answers to'),
  log: choice(
    'LEVEL',
    logLevels,
    `what it logs on stderr, as JSON: ${logLevels.join(', ')}; default warn on a terminal, else info`,
  ),
  'allow-origin': texts('ORIGIN', 'a site whose pages may call the server, such as https://app.example.org'),
};

const usualPort = 4730;
const triedPorts = 20;
const parsePort = (given: string | undefined): number | undefined => {
  const port = parseCount('--port', given, 0);
  if (port === undefined || port < 2 ** 16) return port;
  throw wrongCall(`--port is a number up to ${2 ** 16 - 1}; got "${given}"`);
};

/**
 * Checks that the server can listen, before the store is opened, so that a failure creates no store. Without --port,
 * any free port is enough.
 */
const checkPlace = async ({
  host = '127.0.0.1',
  port,
}: {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}) => {
  const wanted = parsePort(port);
  const { checkListening } = await import('../../../servers/http/listen.ts');
  await checkListening(host, wanted ?? 0);
};

const listen = async (
  runtime: Runtime,
  context: Context,
  { options: given }: Call<typeof options>,
  observing: Observing,
) => {
  const { serveHttp } = await import('../../../servers/http/index.ts');
  const port = parsePort(given.port);
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
  if (port !== undefined) return { server: await tryPort(port) };
  for (let tried = usualPort; ; tried++) {
    try {
      return { server: await tryPort(tried), ...(tried > usualPort && { takenPort: usualPort }) };
    } catch (error) {
      if (!(error instanceof PerdureError) || error.details.port === undefined || tried === usualPort + triedPorts)
        throw error;
    }
  }
};

export const serve = defineCommand({
  name: 'serve',
  summary: 'serve sessions over HTTP, and work on their runs',
  args: [],
  options,
  notes: [
    'The first start on a store makes an admin key and keeps it in the data folder; `perdure keys create` makes more.',
    'If OTEL_EXPORTER_OTLP_ENDPOINT is set, spans of runs, model calls and tool calls are sent there.',
    'Ctrl-C stops it: streams end, current steps may finish, and runs go on with the next worker.',
  ],
  examples: ['perdure serve  # until Ctrl-C', 'perdure serve --port 8080 --no-worker  # until Ctrl-C'],
  makesStore: true,
  isServer: true,
  backingOptions: ['store', 'config', 'workspace'],
  json: z.strictObject({ url: z.string(), key: z.string().optional() }),
  run: async (context, call) => {
    await checkPlace(call.options);
    if (call.options['no-worker']) refuseWithoutWorker(call.options);
    const wanted = await parseWorkerOptions(context, call.options);
    const observing = await observe(context, call.options.log ?? (context.err.isTerminal ? 'warn' : 'info'));
    const runtime = await context.wholeRuntime({ ...observing.runtime, warn: observing.warn });
    const working = call.options['no-worker'] ? undefined : runtime.worker(wanted);
    const { stopped, release } = awaitInterrupt(context, working);
    const { server, takenPort } = await listen(runtime, context, call, observing);
    const dispatchers = new Dispatchers(runtime);
    try {
      await dispatchers.start();
      await working?.start();
      const { url } = server;
      const key = await firstKey(context, runtime);
      const greeting = await greetingOf(context, runtime, { url, takenPort, worksHere: working !== undefined, key });
      await context.answer({ url, ...(key && { key: key.token }) }, () => greeting);
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
