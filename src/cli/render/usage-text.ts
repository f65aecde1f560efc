import type { SessionUsage } from '../../core/runs/usage.ts';
import type { Limits } from '../../schema/run.ts';
import { duration } from './quantity.ts';

const whole = new Intl.NumberFormat('en-US');
const money = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 4 });
const smallMoney = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });

type Measure = keyof Limits;

/** Formats an amount of each measure. */
export const amountTexts: Readonly<Record<Measure, (amount: number) => string>> = {
  turns: (turns) => whole.format(turns),
  tokens: (tokens) => whole.format(tokens),
  usd: (usd) => (usd < 0.01 ? smallMoney : money).format(usd),
  activeMs: duration,
};

/** Formats an amount: `1,111`, or with a limit `1,111 of 5,000`. */
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

/**
 * Whether to show a measure: tokens and money once used, and any measure with a limit. Turns and time are shown by
 * other commands.
 */
const isShown = ({ spent, limits }: SessionUsage, measure: Measure): boolean =>
  limits[measure] !== undefined || ((measure === 'tokens' || measure === 'usd') && spent[measure] > 0);

/** Formats usage as `used 1,111 of 5,000 tokens, 0.02 USD`. Undefined when nothing is used and nothing is limited. */
export const usageLine = (usage: SessionUsage): string | undefined => {
  const shown = (Object.keys(units) as Measure[]).filter((measure) => isShown(usage, measure));
  if (shown.length === 0) return undefined;
  return `used ${shown.map((measure) => `${usedText(usage, measure)}${units[measure]}`).join(', ')}`;
};
