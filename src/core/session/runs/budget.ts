import type { Limits } from '../../../schema/run.ts';
import type { Agent } from '../agent.ts';
import type { SessionFold } from '../fold.ts';

/** The tokens and cost that are reserved before a model request: the request plus the longest possible answer. */
export interface Reserve {
  readonly model: string;
  readonly tokens: number;
  /** Undefined when the price is not known. */
  readonly usd: number | undefined;
}

const usedUp = (what: string): string => `the session's budget of ${what} is used up`;
const noRoom = (what: string, spent: string, next: string): string =>
  `the session's budget of ${what} has no room for the next answer: ${spent} used, and the answer may need ${next}`;

/**
 * Returns why the budget does not allow the request, as text for people. Returns undefined if the budget allows it.
 */
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
    return `the price of ${model} is not known, so the session's budget of ${limits.usd} USD cannot be enforced: configure the price, or set another limit`;
  }
  return spent.usd + usd > limits.usd ? noRoom(`${limits.usd} USD`, spent.usd.toFixed(4), usd.toFixed(4)) : undefined;
};

const lower = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/**
 * Returns the budget of a child: the rest of its parent's budget, limited by the budget of the child's agent.
 * Concurrent children may each use all of it, because a child's usage is charged only when the child has ended.
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
