import type { WorkerOptions } from '../../core/service/workers.ts';
import { type Context, text, texts, type Values } from '../command.ts';
import { nameOf } from '../config/choose-agent.ts';
import { parseDuration } from '../moment.ts';
import { suggestion } from '../one-of.ts';
import { parseCount } from '../point.ts';
import { wrongCall } from '../wrong-call.ts';

export const workerOptions = {
  concurrency: text('N', 'sessions worked on at once by this process, 4 without it'),
  lease: text('TIME', 'without a sign of life for so long, others take over; 30s without it'),
  'per-workspace': text('N', 'sessions of one workspace at once, by all workers together'),
  'per-agent': texts('NAME=N', 'sessions of an agent at once, by all workers together'),
};

/** A limit of NAME is one of each of its versions. */
const agentLimits = async (context: Context, given: readonly string[]): Promise<Record<string, number>> => {
  const { agents } = await context.config();
  const limits = given.flatMap((each) => {
    const [, named = '', count] = /^(.+)=(\d{1,9})$/.exec(each) ?? [];
    const found = agents.filter((agent) => agent.name === named || nameOf(agent) === named);
    if (count === undefined || Number(count) < 1)
      throw wrongCall(`--per-agent is NAME=N, such as coder=2; got "${each}"`);
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
  const perWorkspace = parseCount('--per-workspace', given['per-workspace'], 1);
  return {
    concurrency: parseCount('--concurrency', given.concurrency, 1),
    leaseMs: parseDuration('--lease', given.lease),
    ...((perAgent || perWorkspace !== undefined) && { limits: { perAgent, perWorkspace } }),
  };
};
