import { z } from 'zod';
import { observe } from '../../backing/observe.ts';
import { nameOf } from '../../config/choose-agent.ts';
import { type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { awaitInterrupt, drain } from '../../runs/interrupt.ts';
import { parseWorkerOptions, workerOptions } from '../../runs/worker-options.ts';

const parseHealth = (given: string): { host: string; port: number } => {
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d{1,5})$/.exec(given) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw wrongCall(`--health is a port, or an address such as 0.0.0.0:4731; got "${given}"`);
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
};

const startHealth = async (context: Context, given: string) => {
  const place = parseHealth(given);
  const observing = await observe(context, 'warn');
  const runtime = await context.wholeRuntime({ ...observing.runtime, warn: observing.warn });
  return async (state: Parameters<typeof import('../../../servers/http/index.ts').serveHealth>[1]['worker']) => {
    const { serveHealth } = await import('../../../servers/http/index.ts');
    const { metrics } = observing.server;
    const server = await serveHealth(runtime, { ...place, worker: state, metrics });
    await context.note(`health is at ${server.url}`);
    const stop = async (): Promise<void> => {
      await server.stop();
      await observing.stop();
    };
    return { url: server.url, stop };
  };
};

export const worker = defineCommand({
  name: 'worker',
  summary: 'work on runs of the agents in the configuration',
  args: [],
  options: {
    once: flag('exit when there is nothing left to do'),
    session: text('SESSION', 'only this session, and those of its subagents'),
    ...workerOptions,
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
    const options = await parseWorkerOptions(context, given);
    const serveState = given.health === undefined ? undefined : await startHealth(context, given.health);
    const session = given.session === undefined ? undefined : (await context.session(given.session)).id;
    const working = await context.worker({ ...options, session });
    const { stopped, release } = awaitInterrupt(context, working);
    const health = await serveState?.(() => working.state());
    const { agents } = await context.config();
    await context.answer({ agents: agents.map(nameOf), ...(health && { health: health.url }) }, () => []);
    await context.note(`at work for ${agents.map(nameOf).join(', ')}; Ctrl-C stops`);
    try {
      if (given.once) await Promise.race([working.runUntilIdle(), stopped]);
      else {
        await working.start();
        await stopped;
      }
      await drain(context, working);
    } finally {
      await working.stop();
      await health?.stop();
      release();
    }
    return undefined;
  },
});
