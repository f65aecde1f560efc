import { DatabaseSync, type StatementSync } from 'node:sqlite';

export const isTooLarge = (error: unknown): boolean =>
  error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';

const rounded = (row: Record<string, unknown> | undefined): typeof row => {
  for (const [name, value] of Object.entries(row ?? {})) if (typeof value === 'bigint') row![name] = Number(value);
  return row;
};

const withRounding = (statement: StatementSync): StatementSync => {
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
 * Rounds integers beyond 2^53, as the PostgreSQL store does. SQLite integers have 64 bits, and node:sqlite throws for
 * the whole result if one row has a larger number. Only a manual edit can store such a number. With withRounding, the
 * check of that row reports it, and the other rows stay readable.
 */
export class RoundingDatabase extends DatabaseSync {
  override prepare(sql: string): StatementSync {
    return withRounding(super.prepare(sql));
  }
}
