import { z } from 'zod';
import type { Runtime } from '../../../runtime.ts';
import { PerdureError } from '../../../schema/error.ts';
import type { Observing } from '../../../servers/observe/index.ts';
import { logOption, observe, parseWatchPaths, watchPathOption } from '../../backing/observe.ts';
import { type Call, type Context, defineCommand, flag, text, texts } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { awaitInterrupt } from '../../runs/interrupt.ts';
import { parseWorkerOptions, refuseWithoutWorker, workerArguments, workerOptions } from '../../runs/worker-options.ts';
import { Dispatchers } from '../../serve/dispatchers.ts';
import { firstKey } from '../../serve/first-key.ts';
import { greetingOf } from '../../serve/greeting.ts';
import { NoteExchange } from '../../serve/note-exchange.ts';
import { parseStreamLimits, streamOptions } from '../../serve/stream-limits.ts';
import { inProcess, noWorkforce, WorkerProcesses, type Workforce } from '../../serve/workforce.ts';

const options = {
  host: text('ADDRESS', 'where to listen; default 127.0.0.1, which only this machine can reach'),
  port: text('N', 'the port, or 0 for any that is free; default 4730'),
  'no-worker': flag('only serve; start `perdure worker` to work on runs'),
  workers: text('N', 'processes that work on runs, 0 to 64; default 1'),
  ...workerOptions,
  'allow-host': texts('NAME', 'another host name that the server answers to'),
  'trust-proxy': texts('ADDRESS', 'a proxy or network such as 10.0.0.0/8 whose x-forwarded-for names the client'),
  'open-metrics': flag('answer /metrics under any host name, as /healthz and /readyz are'),
  log: logOption('default warn on a terminal, else info'),
  'watch-path': watchPathOption,
  'allow-origin': texts('ORIGIN', 'a site whose pages may call the server, such as https://app.example.org'),
  ...streamOptions,
};

const usualPort = 4730;
const triedPorts = 20;
const parsePort = (given: string | undefined): number | undefined => {
  const port = parseCount('--port', given, 0);
  if (port === undefined || port < 2 ** 16) return port;
  throw wrongCall(`--port is a number up to ${2 ** 16 - 1}; got "${given}"`);
};

const maxWorkers = 64;

/** Returns the number of worker processes. Rejects options for workers if there is none. */
const parseWorkers = (given: Call<typeof options>['options']): number => {
  const { 'no-worker': none, workers } = given;
  const count = parseCount('--workers', workers, 0, maxWorkers);
  if (none && workers !== undefined) throw wrongCall('--no-worker and --workers exclude each other: leave out one');
  if (none || count === 0) refuseWithoutWorker(given, none ? '--no-worker' : '--workers 0');
  return none ? 0 : (count ?? 1);
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
  workforce: Workforce,
) => {
  const { serveHttp } = await import('../../../servers/http/index.ts');
  const port = parsePort(given.port);
  const tryPort = (wanted: number) =>
    serveHttp(runtime, {
      port: wanted,
      ...(given.host !== undefined && { host: given.host }),
      allowHosts: given['allow-host'] ?? [],
      allowOrigins: given['allow-origin'] ?? [],
      trustedProxies: given['trust-proxy'] ?? [],
      metricsOnAnyHost: given['open-metrics'] ?? false,
      store: context.storeName(),
      worksHere: workforce.count > 0,
      workers: workforce,
      ...parseStreamLimits(given),
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
    'Runs execute in worker processes of their own. One that dies is restarted, and all of them end with the server.',
    'Ctrl-C stops it: streams end, current steps may finish, and runs go on with the next worker.',
  ],
  examples: [
    'perdure serve  # until Ctrl-C',
    'perdure serve --workers 4  # until Ctrl-C',
    'perdure serve --port 8080 --no-worker  # until Ctrl-C',
  ],
  makesStore: true,
  isServer: true,
  backingOptions: ['store', 'config', 'workspace'],
  json: z.strictObject({ url: z.string(), key: z.string().optional() }),
  run: async (context, call) => {
    await checkPlace(call.options);
    parseStreamLimits(call.options); // a wrong call is reported before the store is opened
    const count = parseWorkers(call.options);
    const wanted = await parseWorkerOptions(context, call.options);
    const log = call.options.log ?? (context.err.isTerminal ? 'warn' : 'info');
    const watched = parseWatchPaths(call.options['watch-path']);
    const observing = await observe(context, log, watched);
    const exchange = new NoteExchange();
    const runtime = await context.wholeRuntime({
      ...observing.runtime,
      warn: observing.warn,
      notes: exchange.notes,
    });
    const hire = async (): Promise<Workforce> => {
      if (count === 0) return noWorkforce;
      const worker = runtime.worker(wanted); // rejects what a worker process would reject
      const start = await context.workerProcesses();
      if (!start) return inProcess(context, worker);
      const watching = (watched ?? []).flatMap((pattern) => ['--watch-path', pattern]);
      const args = [...workerArguments(call.options), '--log', log, ...watching, ...(context.json ? ['--json'] : [])];
      const { onTally, onRestart, countWorkers } = observing.workers;
      const processes = new WorkerProcesses({
        count,
        start: () => start(args),
        onReady: (process) => exchange.add(process),
        onAppended: onTally,
        onRestart: (message) => {
          onRestart();
          observing.warn(message);
        },
      });
      countWorkers(() => processes.running);
      return processes;
    };
    const workforce = await hire();
    const { stopped, release } = awaitInterrupt(context, workforce);
    const { server, takenPort } = await listen(runtime, context, call, observing, workforce);
    const dispatchers = new Dispatchers(runtime);
    try {
      const working = workforce.start();
      working.catch(() => {}); // reported below
      await dispatchers.start();
      const { url } = server;
      const key = await firstKey(context, runtime);
      await Promise.race([working, stopped]);
      const greeting = await greetingOf(context, runtime, { url, takenPort, workers: workforce.count, key });
      await context.answer({ url, ...(key && { key: key.token }) }, () => greeting);
      await stopped;
    } finally {
      await Promise.all([server.stop(), workforce.drain()]);
      await dispatchers.stop();
      await observing.stop();
      release();
    }
    return undefined;
  },
});
