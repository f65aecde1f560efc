import { DatabaseSync, type StatementSync } from 'node:sqlite';

export const isTooLarge = (error: unknown): boolean =>
  error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';

const rounded = (row: Record<string, unknown> | undefined): typeof row => {
  for (const [name, value] of Object.entries(row ?? {})) if (typeof value === 'bigint') row![name] = Number(value);
  return row;
};

const rounding = (statement: StatementSync): StatementSync => {
  const [get, all] = [statement.get.bind(statement), statement.all.bind(statement)] as [
    (...values: unknown[]) => Record<string, unknown> | undefined,
    (...values: unknown[]) => Record<string, unknown>[],
  ];
  const orRounded = <T>(read: () => T, round: (read: T) => T): T => {
    try {
      return read();
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      statement.setReadBigInts(true);
      try {
        return round(read());
      } finally {
        statement.setReadBigInts(false);
      }
    }
  };
  return Object.assign(statement, {
    get: (...values: unknown[]) => orRounded(() => get(...values), rounded),
    all: (...values: unknown[]) =>
      orRounded(
        () => all(...values),
        (rows) => rows.map((row) => rounded(row)!),
      ),
  });
};

/**
 * An integer of SQLite has 64 bits, and node:sqlite refuses every row together with one that has a number over 2^53, which only somebody
 * with tools of their own can have put there. Here such numbers are rounded, as those of PostgreSQL are: whoever looks at that row finds
 * what is wrong with it, and the others can be read.
 */
export class RoundingDatabase extends DatabaseSync {
  override prepare(sql: string): StatementSync {
    return rounding(super.prepare(sql));
  }
}
