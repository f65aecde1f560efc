import { z } from 'zod';
import type { Worker } from '../../../core/worker/worker.ts';
import type { SessionEvent } from '../../../schema/event.ts';
import { usuallyWatched } from '../../../schema/watched-paths.ts';
import type { Observing } from '../../../servers/observe/index.ts';
import { logOption, observe, parseWatchPaths, watchPathOption } from '../../backing/observe.ts';
import { nameOf } from '../../config/choose-agent.ts';
import { type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { awaitInterrupt, awaitParent, drain } from '../../runs/interrupt.ts';
import { parseWorkerOptions, workerOptions } from '../../runs/worker-options.ts';
import { notesThrough } from '../../serve/note-exchange.ts';
import type { AppendTally } from '../../serve/worker-process.ts';

const parseHealth = (given: string): { host: string; port: number } => {
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d{1,5})$/.exec(given) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw wrongCall(`--health is a port, or an address such as 0.0.0.0:4731; got "${given}"`);
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
};

/** How many events of each type, and ends of runs by status, an append wrote. */
const tallyOf = (appended: readonly SessionEvent[], untrusted: AppendTally['untrusted']): AppendTally => {
  const events: Record<string, number> = {};
  const runs: Record<string, number> = {};
  for (const event of appended) {
    events[event.type] = (events[event.type] ?? 0) + 1;
    if (event.type === 'run.ended') runs[event.payload.status] = (runs[event.payload.status] ?? 0) + 1;
  }
  return { events, runs, ...(untrusted?.length && { untrusted }) };
};

/** Logs, counts and traces what the worker does, and reports it to the server that supervises it. */
const startObserving = async (
  context: Context,
  level: string | undefined,
  watched: readonly string[] = usuallyWatched,
): Promise<Observing> => {
  const { parent } = context;
  const { untrustedCommits } = await import('../../../servers/observe/index.ts');
  const observing = await observe(context, level ?? 'warn', watched);
  const { onAppended, spans } = observing.runtime;
  await context.wholeRuntime({
    spans,
    warn: observing.warn,
    onAppended: (events) => {
      onAppended(events);
      parent?.send({ type: 'appended', ...tallyOf(events, untrustedCommits(events, watched)) });
    },
    ...(parent && { notes: notesThrough(parent) }),
  });
  return observing;
};

const startHealth = async (context: Context, given: string, observing: Observing, worker: Worker) => {
  const place = parseHealth(given);
  const { serveHealth } = await import('../../../servers/http/index.ts');
  const { metrics } = observing.server;
  const server = await serveHealth(await context.wholeRuntime(), { ...place, worker: () => worker.state(), metrics });
  await context.note(`health is at ${server.url}`);
  return server;
};

export const worker = defineCommand({
  name: 'worker',
  summary: 'work on runs of the agents in the configuration',
  args: [],
  options: {
    once: flag('exit when there is nothing left to do'),
    session: text('SESSION', 'only this session, and those of its subagents'),
    ...workerOptions,
    log: logOption('default: only warnings, as text'),
    'watch-path': watchPathOption,
    health: text('[HOST:]PORT', 'serve /healthz, /readyz, /metrics and a status page there'),
  },
  notes: [
    'Any number of workers on any number of machines share the work of all workspaces, or of the one that --workspace names.',
    'Ctrl-C or SIGTERM lets current steps finish and hands the rest back; a second one stops at once.',
  ],
  examples: [
    'perdure worker  # until Ctrl-C',
    'perdure worker --store postgres://… --health 4731  # until Ctrl-C',
    'perdure worker --concurrency 16 --per-agent demo=2 --lease 10s  # until Ctrl-C',
    'perdure worker --session ses_… --once',
  ],
  makesStore: ({ options: { session } }) => session === undefined,
  backingOptions: ['store', 'config', 'workspace'],
  json: z.strictObject({ agents: z.array(z.string()), health: z.string().optional() }),
  run: async (context, { options: given }) => {
    const { parent } = context;
    const options = await parseWorkerOptions(context, given);
    if (given.health !== undefined) parseHealth(given.health);
    const isObserved = parent !== undefined || given.health !== undefined || given.log !== undefined;
    const watched = parseWatchPaths(given['watch-path']);
    const observing = isObserved ? await startObserving(context, given.log, watched) : undefined;
    const session = given.session === undefined ? undefined : (await context.session(given.session)).id;
    const working = await context.worker({ ...options, session });
    const { stopped, release } = parent ? awaitParent(context, parent, working) : awaitInterrupt(context, working);
    const health =
      given.health === undefined ? undefined : await startHealth(context, given.health, observing!, working);
    const { agents } = await context.config();
    await context.answer({ agents: agents.map(nameOf), ...(health && { health: health.url }) }, () => []);
    if (!parent) await context.note(`at work for ${agents.map(nameOf).join(', ')}; Ctrl-C stops`);
    try {
      if (given.once) await Promise.race([working.runUntilIdle(), stopped]);
      else {
        await working.start();
        parent?.send({ type: 'ready' });
        await stopped;
      }
      await drain(context, working);
    } finally {
      await working.stop();
      await health?.stop();
      await observing?.stop();
      release();
    }
    return undefined;
  },
});
