/** The answer that a test makes a provider return. */
export interface ScriptedAnswer {
  readonly thinking?: string;
  readonly text?: string;
  /** `input` is sent verbatim, so that it can be invalid JSON. */
  readonly calls?: readonly { readonly id: string; readonly tool: string; readonly input: string }[];
}

/**
 * How a stream fails after its first half; `empty` sends nothing at all. `endless` repeats its last frame for ever, and
 * `endless-line` sends a line that never ends.
 */
export type StreamFault =
  | 'endless'
  | 'endless-line'
  | 'disconnect'
  | 'unfinished'
  | 'malformed'
  | 'stall'
  | 'empty'
  | 'error-frame';

export interface StatusFault {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Reply =
  | { readonly answer: ScriptedAnswer; readonly fault?: StreamFault }
  | { readonly status: StatusFault }
  | { readonly overflow: true };

// biome-ignore lint/suspicious/noExplicitAny: bodies of three foreign APIs, checked field by field
export type Body = any;

/** Data that a provider issued together with calls and expects to be sent back with them. */
export interface Issued {
  readonly calls: readonly string[];
  readonly thinking: string;
  readonly signature: string;
}

export interface ProviderApi {
  readonly path: string;
  readonly keyHeader: (key: string) => readonly [name: string, value: string];
  /** The problem for which the real provider answers 400, if there is one. */
  problemOf(body: Body, issued: readonly Issued[]): string | undefined;
  frames(answer: ScriptedAnswer, body: Body, issued: Issued): readonly string[];
  errorFrame(): string;
  errorBody(fault: StatusFault): unknown;
  readonly overflow: StatusFault;
}

export const usage = { input: 100, cached: 40, output: 30, reasoning: 10 };

export const words = (text: string): readonly string[] => text.match(/\S+\s*/g) ?? [];
export const halves = (text: string): readonly [string, string] => {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
};

export const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isObjectText = (text: unknown): boolean => {
  try {
    return isObject(JSON.parse(String(text)));
  } catch {
    return false;
  }
};

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** The error message of a provider for bytes of the wrong or an unsupported media type. */
export const mediaProblem = (mediaType: string, data: string): string | undefined => {
  const bytes = Buffer.from(data, 'base64');
  if (mediaType === 'application/pdf') return bytes.toString('latin1', 0, 5) === '%PDF-' ? undefined : 'invalid PDF';
  if (!imageTypes.includes(mediaType)) return `unsupported media type ${mediaType}`;
  return mediaType === 'image/png' && bytes.toString('latin1', 1, 4) !== 'PNG' ? 'could not process image' : undefined;
};

/** The same check for a data URL. */
export const dataUrlProblem = (url: string): string | undefined => {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.+)$/s.exec(url) ?? [];
  return mediaType && data ? mediaProblem(mediaType, data) : 'expected a data URL';
};

export const firstProblem = (problems: Iterable<string | false | undefined>): string | undefined => {
  for (const problem of problems) if (problem) return problem;
  return undefined;
};
