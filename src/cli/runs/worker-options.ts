import type { WorkerOptions } from '../../core/runs/worker-options.ts';
import { workerLimits } from '../../schema/worker-limits.ts';
import { nameOf } from '../config/choose-agent.ts';
import { type Context, text, texts, type Values } from '../parse/command.ts';
import { durationMs } from '../parse/moment.ts';
import { suggestion } from '../parse/one-of.ts';
import { parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';

export const workerOptions = {
  concurrency: text('N', 'sessions that this process works on at once, 1 to 1000; default 4'),
  lease: text('TIME', 'others take over after this long without a sign of life: 1s to 24h; default 30s'),
  'per-workspace': text('N', 'sessions of one workspace at once, across all workers'),
  'per-agent': texts('NAME=N', 'sessions of an agent at once, across all workers'),
};

const leastLeaseMs = 1000;

const parseLease = (given: string | undefined): number | undefined => {
  if (given === undefined) return undefined;
  const ms = durationMs(given) ?? Number.NaN;
  if (ms >= leastLeaseMs && ms <= workerLimits.mostLeaseMs) return ms;
  throw wrongCall(`--lease is a time from 1s to 24h, such as 10s, 30s or 5min; got "${given}"`);
};

/** Parses limits per agent. A limit for NAME applies to each of its versions separately. */
const agentLimits = async (context: Context, given: readonly string[]): Promise<Record<string, number>> => {
  const { agents } = await context.config();
  const limits = given.flatMap((each) => {
    const [, named = '', count] = /^(.+)=(\d{1,9})$/.exec(each) ?? [];
    const found = agents.filter((agent) => agent.name === named || nameOf(agent) === named);
    if (count === undefined || Number(count) < 1 || Number(count) > workerLimits.sessions)
      throw wrongCall(
        `--per-agent is NAME=N, such as coder=2, with N from 1 to ${workerLimits.sessions}; got "${each}"`,
      );
    if (found.length === 0)
      throw wrongCall(
        `there is no agent "${named}": there are ${agents.map(nameOf).join(', ')}${suggestion(
          named,
          agents.map(({ name }) => name),
        )}`,
      );
    return found.map((agent) => [nameOf(agent), Number(count)] as const);
  });
  return Object.fromEntries(limits);
};

export const parseWorkerOptions = async (
  context: Context,
  given: Values<typeof workerOptions>,
): Promise<WorkerOptions> => {
  const perAgent = given['per-agent'] && (await agentLimits(context, given['per-agent']));
  const perWorkspace = parseCount('--per-workspace', given['per-workspace'], 1, workerLimits.sessions);
  return {
    concurrency: parseCount('--concurrency', given.concurrency, 1, workerLimits.concurrency),
    leaseMs: parseLease(given.lease),
    ...((perAgent || perWorkspace !== undefined) && { limits: { perAgent, perWorkspace } }),
  };
};

/** The same options as arguments of another command. */
export const workerArguments = (given: Values<typeof workerOptions>): readonly string[] =>
  Object.keys(workerOptions).flatMap((name) =>
    [given[name as keyof typeof workerOptions] ?? []].flat().flatMap((value) => [`--${name}`, value]),
  );

export const refuseWithoutWorker = (given: Values<typeof workerOptions>, because: string): void => {
  const idle = Object.keys(workerOptions).filter((name) => given[name as keyof typeof workerOptions] !== undefined);
  if (idle.length === 0) return;
  const named = idle.map((name) => `--${name}`).join(', ');
  throw wrongCall(`with ${because} there is no worker for ${named} to apply to: leave out one or the other`);
};
