export type SpanAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface SpanStart {
  readonly name: string;
  /** `client` for what asks another service. */
  readonly kind: 'internal' | 'client';
  readonly attributes: SpanAttributes;
}

/** A span while its work is under way. What it is told are names, ids and numbers, never what somebody, a model or a tool said. */
export interface OpenSpan {
  set(attributes: SpanAttributes): void;
  /** By the kind of its failure. */
  fail(errorType: string): void;
}

/** Who wants to know what a runtime does and how long that takes. */
export interface Spans {
  /** Around the work, and within the one whose work this is part of. */
  span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
}

const unseen: OpenSpan = { set: () => {}, fail: () => {} };

export const noSpans: Spans = { span: (_, work) => work(unseen) };
