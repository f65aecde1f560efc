import type { BlobEventQuery, CallQuery } from '../../core/ports/store.ts';

/** A statement in the making: values become numbered places, and a condition on a value that was not given is left out. */
export class QueryText {
  readonly values: unknown[] = [];
  readonly #mark: '$' | '?';

  /** What the dialect puts before a place's number. */
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

  /** What queries of commits and of calls have in common. */
  narrow({ tool, actor, since, until }: Pick<CallQuery, 'tool' | 'actor' | 'since' | 'until'>): string {
    return [
      this.and(tool, (place) => `tool = ${place}`),
      this.and(actor, (place) => `actor = ${place}`),
      this.and(since, (place) => `at >= ${place}`),
      this.and(until, (place) => `at <= ${place}`),
    ].join('');
  }

  /** The page after that event, in the order of sessions and their events, or of one session. */
  following({ session, after }: BlobEventQuery): string {
    if (session === undefined) {
      return after ? ` AND (session, seq) > (${this.place(after.session)}, ${this.place(after.seq)})` : '';
    }
    return ` AND session = ${this.place(session)}${this.and(after?.seq, (place) => `seq > ${place}`)}`;
  }

  /** The page after that record, in a workspace. */
  goOn(before: CallQuery['before']): string {
    if (!before) return '';
    return ` AND (at, session, seq) < (${this.place(before.at)}, ${this.place(before.session)}, ${this.place(before.seq)})`;
  }
}
