import type { SQLInputValue, StatementSync } from 'node:sqlite';

/**
 * Rows one by one. After a failure node:sqlite resets the statement only at its next use, which then fails with the old error: we spend
 * that use here, so that a damaged session does not fail the one that is read after it.
 */
export function* eachRow<Row>(statement: StatementSync, ...values: SQLInputValue[]): Generator<Row, void> {
  try {
    yield* statement.iterate(...values) as Iterable<unknown> as Iterable<Row>;
  } catch (error) {
    try {
      statement.iterate(...values);
    } catch {}
    throw error;
  }
}
