import type { BlobEventQuery, CallQuery } from '../../core/ports/store.ts';

/** Builds an SQL statement: values become numbered placeholders, and a condition on an undefined value is left out. */
export class QueryText {
  readonly values: unknown[] = [];
  readonly #mark: '$' | '?';

  /** `mark` is the dialect's prefix of a placeholder number. */
  constructor(mark: '$' | '?') {
    this.#mark = mark;
  }

  place(value: unknown): string {
    this.values.push(value);
    return `${this.#mark}${this.values.length}`;
  }

  and(value: unknown, condition: (place: string) => string): string {
    return value === undefined ? '' : ` AND ${condition(this.place(value))}`;
  }

  /** The conditions that commit and call queries share. */
  narrow({ tool, actor, since, until }: Pick<CallQuery, 'tool' | 'actor' | 'since' | 'until'>): string {
    return [
      this.and(tool, (place) => `tool = ${place}`),
      this.and(actor, (place) => `actor = ${place}`),
      this.and(since, (place) => `at >= ${place}`),
      this.and(until, (place) => `at <= ${place}`),
    ].join('');
  }

  /** Restricts to the events after `after`, ordered by session and seq. With a session, restricts to its events. */
  following({ session, after }: BlobEventQuery): string {
    if (session === undefined) {
      return after ? ` AND (session, seq) > (${this.place(after.session)}, ${this.place(after.seq)})` : '';
    }
    return ` AND session = ${this.place(session)}${this.and(after?.seq, (place) => `seq > ${place}`)}`;
  }

  /** Restricts to the records older than `before`, in a query over a whole workspace. */
  goOn(before: CallQuery['before']): string {
    if (!before) return '';
    return ` AND (at, session, seq) < (${this.place(before.at)}, ${this.place(before.session)}, ${this.place(before.seq)})`;
  }
}
