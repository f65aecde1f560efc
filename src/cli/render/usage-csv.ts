import type { UsageAmounts, UsageReport, UsageRow } from '../../schema/views/usage.ts';

/** A spreadsheet would execute a text that begins like a formula. */
const isFormula = /^[=+\-@\t\r]/;

const cellOf = (value: string | number): string => {
  if (typeof value === 'number') return String(value);
  const safe = isFormula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const amountsOf = ({ tokens, inputTokens, outputTokens, cachedTokens, usd, unpriced }: UsageAmounts) => [
  tokens,
  inputTokens,
  outputTokens,
  cachedTokens,
  usd,
  unpriced,
];
const amountNames = ['tokens', 'input_tokens', 'output_tokens', 'cached_tokens', 'usd', 'unpriced_calls'];

/** Shares of other rows, which a sum of this column would count twice. */
const sharesOf = (row: UsageRow): readonly number[] =>
  (['children', 'inherited'] as const).flatMap((share) => {
    const amounts = row[share];
    return amounts ? [amounts.tokens, amounts.usd] : [];
  });

const shareNames = (rows: readonly UsageRow[]): readonly string[] =>
  (['children', 'inherited'] as const).flatMap((share) =>
    rows[0]?.[share] ? [`${share}_tokens`, `${share}_usd`] : [],
  );

/** Usage as CSV: a header, and a line for each row. The sum of a column without a prefix is the total. */
export const usageCsv = ({ by, rows }: Pick<UsageReport, 'by' | 'rows'>): readonly string[] => [
  [by, 'calls', ...amountNames, ...shareNames(rows)].join(','),
  ...rows.map((row) => [row.key ?? '', row.calls, ...amountsOf(row.own), ...sharesOf(row)].map(cellOf).join(',')),
];
