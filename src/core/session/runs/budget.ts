import type { Limits } from '../../../schema/run.ts';
import type { Agent } from '../agent.ts';
import type { SessionFold } from '../fold.ts';

/** What is set aside before a model is asked: the request, and the longest answer that it may give. */
export interface Reserve {
  readonly model: string;
  readonly tokens: number;
  /** Undefined when the price is not known. */
  readonly usd: number | undefined;
}

const usedUp = (what: string): string => `the session's budget of ${what} is used up`;
const noRoom = (what: string, spent: string, next: string): string =>
  `the session's budget of ${what} has no room for the next answer: ${spent} are used, and it may take ${next}`;

/** Why there is no room for the call, for people; undefined where there is. */
export const budgetProblem = (
  { limits, spent, run }: SessionFold,
  { model, tokens, usd }: Reserve,
  now: number,
): string | undefined => {
  const activeMs = spent.activeMs + (run?.activeSince === undefined ? 0 : Math.max(0, now - run.activeSince));
  if (limits.turns !== undefined && spent.turns > limits.turns) return usedUp(`${limits.turns} turns`);
  if (limits.tokens !== undefined && spent.tokens + tokens > limits.tokens)
    return noRoom(`${limits.tokens} tokens`, `${spent.tokens}`, `${tokens}`);
  if (limits.activeMs !== undefined && activeMs >= limits.activeMs)
    return usedUp(`${limits.activeMs} ms of active time`);
  if (limits.usd === undefined) return undefined;
  if (usd === undefined) {
    return `the price of ${model} is not known, so that the session's budget of ${limits.usd} USD cannot be kept: configure the price, or set another limit`;
  }
  return spent.usd + usd > limits.usd ? noRoom(`${limits.usd} USD`, spent.usd.toFixed(4), usd.toFixed(4)) : undefined;
};

const lower = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/**
 * What the parent has left, and no more than the agent's own budget. Children that work side by side may each use it up: what they used
 * counts when they have ended.
 */
export const budgetOfChild = ({ limits, spent }: SessionFold, agent: Pick<Agent, 'budget'> | undefined): Limits => {
  const left = (limit: number | undefined, used: number) =>
    limit === undefined ? undefined : Math.max(0, limit - used);
  const own = agent?.budget ?? {};
  return {
    turns: own.turns,
    tokens: lower(left(limits.tokens, spent.tokens), own.tokens),
    usd: lower(left(limits.usd, spent.usd), own.usd),
    activeMs: lower(left(limits.activeMs, spent.activeMs), own.activeMs),
  };
};
