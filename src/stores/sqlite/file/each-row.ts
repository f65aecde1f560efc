import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { isTooLarge } from './rounding-database.ts';

/**
 * Yields rows one by one. After a failure, node:sqlite resets the statement only at its next use, which then fails
 * with the old error. So we use the statement once more here. Otherwise, after a damaged session, the read of the next
 * session would fail too.
 */
export function* eachRow<Row>(statement: StatementSync, ...values: SQLInputValue[]): Generator<Row, void> {
  let given = 0;
  try {
    for (const row of statement.iterate(...values)) {
      given += 1;
      yield row as Row;
    }
  } catch (error) {
    try {
      statement.iterate(...values);
    } catch {}
    if (!isTooLarge(error)) throw error;
    yield* statement.all(...values).slice(given) as Row[];
  }
}
