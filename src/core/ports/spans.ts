export type SpanAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface SpanStart {
  readonly name: string;
  /** `client` means a request to another service. */
  readonly kind: 'internal' | 'client';
  readonly attributes: SpanAttributes;
}

/**
 * A span whose work is in progress. Attributes are names, ids and numbers, never text of a person, a model or a tool.
 */
export interface OpenSpan {
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed, with the kind of failure. */
  fail(errorType: string): void;
}

/** The receiver of spans, which record what a runtime does and for how long. */
export interface Spans {
  /** Opens a span around the work, as a child of the enclosing span. */
  span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
}

const unseen: OpenSpan = { set: () => {}, fail: () => {} };

export const noSpans: Spans = { span: (_, work) => work(unseen) };
