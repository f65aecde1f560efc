import type { SessionUsage } from '../../core/runs/usage.ts';
import type { Limits, Spent } from '../../schema/run.ts';
import { duration } from './quantity.ts';

const whole = new Intl.NumberFormat('en-US');
const money = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 4 });
const smallMoney = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });

type Measure = keyof Limits;

/** How each is written. */
export const amountTexts: Readonly<Record<Measure, (amount: number) => string>> = {
  turns: (turns) => whole.format(turns),
  tokens: (tokens) => whole.format(tokens),
  usd: (usd) => (usd < 0.01 ? smallMoney : money).format(usd),
  activeMs: duration,
};

/** `1,111`, or where that is limited `1,111 of 5,000`. */
export const usedText = (
  { spent, limits }: Pick<SessionUsage, 'spent' | 'limits'>,
  measure: Measure,
  of = ' of ',
): string => {
  const [write, limit] = [amountTexts[measure], limits[measure]];
  return limit === undefined ? write(spent[measure]) : `${write(spent[measure])}${of}${write(limit)}`;
};

const units: Readonly<Record<Measure, string>> = {
  tokens: ' tokens',
  usd: ' USD',
  turns: ' turns',
  activeMs: ' at work',
};

/** What has a price or a limit: turns and time without one are told elsewhere. */
const isTold = ({ spent, limits }: SessionUsage, measure: Measure): boolean =>
  limits[measure] !== undefined || ((measure === 'tokens' || measure === 'usd') && spent[measure] > 0);

/** `used 1,111 of 5,000 tokens, 0.02 USD`; undefined where nothing was used and nothing is limited. */
export const usageLine = (usage: SessionUsage): string | undefined => {
  const told = (Object.keys(units) as Measure[]).filter((measure) => isTold(usage, measure));
  if (told.length === 0) return undefined;
  return `used ${told.map((measure) => `${usedText(usage, measure)}${units[measure]}`).join(', ')}`;
};

const nothing: Spent = { turns: 0, tokens: 0, usd: 0, unpriced: 0, activeMs: 0 };

export const totalSpent = (usage: readonly SessionUsage[]): Spent =>
  usage.reduce(
    (total, { spent }) => ({
      turns: total.turns + spent.turns,
      tokens: total.tokens + spent.tokens,
      usd: total.usd + spent.usd,
      unpriced: total.unpriced + spent.unpriced,
      activeMs: total.activeMs + spent.activeMs,
    }),
    nothing,
  );
