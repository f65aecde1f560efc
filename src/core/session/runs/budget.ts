import type { ErrorDetails } from '../../../schema/error.ts';
import type { Limits } from '../../../schema/run.ts';
import type { Price } from '../../ports/model.ts';
import type { Agent } from '../agent.ts';
import type { SessionFold } from '../fold.ts';

/** A model request before it is sent: its estimated size, and the longest answer that the agent wants. */
export interface PlannedRequest {
  readonly model: string;
  readonly price: Price | null;
  readonly requestTokens: number;
  readonly outputTokens: number;
}

/** A request asks for this many output tokens at least. With less room in the budget, the run waits. */
export const leastOutputTokens = 256;

/** The maximum length of the answer within the budget, or why the budget does not allow the request. */
export type BudgetFit = { readonly outputTokens: number } | { readonly problem: string };

type Limit = keyof Limits;

const usdText = (usd: number): string => usd.toFixed(usd < 0.01 ? 6 : 4);
const amountText: Readonly<Record<Limit, (amount: number) => string>> = {
  turns: (turns) => `${turns} turns`,
  tokens: (tokens) => `${tokens} tokens`,
  usd: (usd) => `${usdText(usd)} USD`,
  activeMs: (ms) => `${ms} ms of active time`,
};
const options: Readonly<Record<Limit, string>> = { turns: 'turns', tokens: 'tokens', usd: 'usd', activeMs: 'active' };

const howToRaise = (limit: Limit): string =>
  `raise it with session.limit({ ${limit} }) or \`perdure limit SESSION --${options[limit]}\``;

const usedUp = (limit: Limit, allowed: number, used: number): BudgetFit => ({
  problem: `the session's budget of ${amountText[limit](allowed)} is used up: ${amountText[limit](used)} used; ${howToRaise(limit)}`,
});

/** One measure that limits the length of an answer. */
interface Measure {
  readonly limit: 'tokens' | 'usd';
  readonly allowed: number;
  readonly used: number;
  readonly request: number;
  readonly perToken: number;
}

const roomIn = ({ allowed, used, request, perToken }: Measure): number => {
  const left = allowed - used - request;
  return perToken > 0 ? Math.floor(left / perToken) : left < 0 ? -1 : Number.POSITIVE_INFINITY;
};

const noRoom = ({ limit, allowed, used, request, perToken }: Measure, least: number): BudgetFit => {
  const text = amountText[limit];
  const answer = least * perToken;
  return {
    problem: [
      `the session's budget of ${text(allowed)} has no room for the next answer:`,
      `${text(used)} used, the request needs about ${text(request)},`,
      `and the shortest answer (${least} output tokens) ${text(answer)}, together ${text(used + request + answer)};`,
      howToRaise(limit),
    ].join(' '),
  };
};

const requestUsd = ({ input, cacheWrite = 0 }: Price, requestTokens: number): number =>
  // Assumes that nothing of the request is cached.
  (requestTokens * Math.max(input, cacheWrite)) / 1e6;

/** What a request and its answer cost at most. */
export const costOf = (price: Price, requestTokens: number, outputTokens: number): number =>
  requestUsd(price, requestTokens) + (outputTokens * price.output) / 1e6;

/**
 * Fits a request into a quota that refused it. Returns the maximum length of the answer, which is shorter than before,
 * or undefined if the quota has no room for the shortest answer.
 */
export const fitQuota = (
  { quota, used, limit }: ErrorDetails,
  { price, requestTokens, outputTokens }: PlannedRequest,
  before: number,
): number | undefined => {
  if (typeof quota !== 'string' || typeof used !== 'number' || typeof limit !== 'number') return undefined;
  const measure = { limit: 'tokens', allowed: limit, used } as const;
  const room = quota.startsWith('tokens')
    ? roomIn({ ...measure, request: requestTokens, perToken: 1 })
    : quota.startsWith('usd') && price
      ? roomIn({ ...measure, request: requestUsd(price, requestTokens), perToken: price.output / 1e6 })
      : -1;
  return room >= Math.min(leastOutputTokens, outputTokens) && room < before ? room : undefined;
};

const measuresOf = (
  { limits, spent }: SessionFold,
  { price, requestTokens }: PlannedRequest,
): readonly (Measure | undefined)[] => [
  limits.tokens === undefined
    ? undefined
    : { limit: 'tokens', allowed: limits.tokens, used: spent.tokens, request: requestTokens, perToken: 1 },
  limits.usd === undefined || !price
    ? undefined
    : {
        limit: 'usd',
        allowed: limits.usd,
        used: spent.usd,
        request: requestUsd(price, requestTokens),
        perToken: price.output / 1e6,
      },
];

/** Fits a request into the budget. The answer may be shortened, but not below `leastOutputTokens`. */
export const fitBudget = (fold: SessionFold, request: PlannedRequest, now: number): BudgetFit => {
  const { limits, spent, run } = fold;
  const activeMs = spent.activeMs + (run?.activeSince === undefined ? 0 : Math.max(0, now - run.activeSince));
  if (limits.turns !== undefined && spent.turns > limits.turns) return usedUp('turns', limits.turns, spent.turns - 1);
  if (limits.activeMs !== undefined && activeMs >= limits.activeMs)
    return usedUp('activeMs', limits.activeMs, activeMs);
  if (limits.usd !== undefined && !request.price) {
    return {
      problem: `the price of ${request.model} is not known, so the session's budget of ${limits.usd} USD cannot be enforced: configure the price, or set another limit`,
    };
  }
  const least = Math.min(leastOutputTokens, request.outputTokens);
  let { outputTokens } = request;
  for (const measure of measuresOf(fold, request)) {
    if (!measure) continue;
    const room = roomIn(measure);
    if (room < least) return noRoom(measure, least);
    outputTokens = Math.min(outputTokens, room);
  }
  return { outputTokens };
};

const lower = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** The lower of each limit. */
export const lowerLimits = (a: Limits, b: Limits): Limits => ({
  turns: lower(a.turns, b.turns),
  tokens: lower(a.tokens, b.tokens),
  usd: lower(a.usd, b.usd),
  activeMs: lower(a.activeMs, b.activeMs),
});

/**
 * Returns the budget of a child: the rest of its parent's budget, limited by the budget of the child's agent.
 * Concurrent children may each use all of it, because a child's usage is charged only when the child has ended.
 */
export const budgetOfChild = ({ limits, spent }: SessionFold, agent: Pick<Agent, 'budget'> | undefined): Limits => {
  const left = (limit: number | undefined, used: number) =>
    limit === undefined ? undefined : Math.max(0, limit - used);
  const rest = {
    tokens: left(limits.tokens, spent.tokens),
    usd: left(limits.usd, spent.usd),
    activeMs: left(limits.activeMs, spent.activeMs),
  };
  return lowerLimits(rest, agent?.budget ?? {});
};
