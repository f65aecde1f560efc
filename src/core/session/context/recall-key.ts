import type { Json } from '../../../schema/json.ts';
import { clip, endsWithin } from './clip.ts';

/** Content that a context leaves out or shows in part. `recall` takes its key and its name. */
export interface EvictedContent {
  readonly key: string;
  /** What the content is, in words. */
  readonly name: string;
}

const maxToolChars = 64;
const maxSubjectChars = 80;
/** A bound on the work for a huge text. */
const maxReadChars = 2000;

/** One printable line without double quotes, cut in its middle. Tools and inputs are not trusted. */
const plainLine = (text: string, maxChars: number): string => {
  const within = (whole: string, chars: number): string =>
    whole.length > chars ? endsWithin(whole, chars - 1).join('…') : whole;
  const line = within(text, maxReadChars)
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .replaceAll('"', "'")
    .trim();
  return within(line, maxChars);
};

/** The fields that say by themselves what a call is about, the most telling first. */
const tellingFields = ['path', 'file_path', 'filePath', 'file', 'command', 'url', 'uri', 'query', 'pattern'];
const pathFields = tellingFields.slice(0, 4);
const maxFields = 8;

const shown = (value: Json): string => {
  if (Array.isArray(value)) return '[…]';
  return typeof value === 'object' && value !== null ? '{…}' : clip(String(value), maxReadChars);
};

const isRecord = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const tellingField = (input: Json): string | undefined =>
  isRecord(input)
    ? tellingFields.find((name) => Object.hasOwn(input, name) && typeof input[name] === 'string' && input[name])
    : undefined;

const subjectOf = (input: Json, field: string | undefined): string => {
  if (!isRecord(input)) return input === null ? '' : shown(input);
  if (field !== undefined) return String(input[field]);
  const fields = Object.entries(input).slice(0, maxFields);
  return fields.map(([name, value]) => `${clip(name, maxSubjectChars)} ${shown(value)}`).join(', ');
};

const isFileRead = (tool: string, field: string | undefined): boolean =>
  field !== undefined && pathFields.includes(field) && /^read(_?file)?$/i.test(tool);

/**
 * The key of a call, made of its tool, its input and its turn, such as `file:src/a.ts@turn:4`. Calls of one turn that
 * look the same share a key. It needs no definition of the tool, so that every reader of a log finds the same key.
 */
export const callKey = ({ tool, input }: { readonly tool: string; readonly input: Json }, turn: number): string => {
  const field = tellingField(input);
  const kind = isFileRead(tool, field) ? 'file' : plainLine(tool, maxToolChars) || 'call';
  const subject = plainLine(subjectOf(input, field), maxSubjectChars);
  return `${kind}${subject && `:${subject}`}@turn:${turn}`;
};

/** Parses a key such as `turn:3` or `turns:1-4`, or its name. Returns undefined for any other key. */
export const turnsOfKey = (key: string): { readonly from: number; readonly to: number } | undefined => {
  const [, from, to = from] = /^turns?[: ](\d{1,15})(?:(?:-| to )(\d{1,15}))?$/.exec(key) ?? [];
  return from === undefined ? undefined : { from: Number(from), to: Number(to) };
};

export const turnsKey = (from: number, to: number): string => (from === to ? `turn:${from}` : `turns:${from}-${to}`);

/** The turn that the key or the name of a call ends with. */
export const turnOfCall = (keyOrName: string): number | undefined => {
  const [, turn] = /(?:@turn:| in turn )(\d{1,15})$/.exec(keyOrName) ?? [];
  return turn === undefined ? undefined : Number(turn);
};

/** The words for a key, such as `file src/a.ts as read in turn 4`. A key that says it by itself is its own name. */
export const keyName = (key: string): string => {
  const turns = turnsOfKey(key);
  if (turns) return turns.from === turns.to ? `turn ${turns.from}` : `turns ${turns.from} to ${turns.to}`;
  const [, kind, subject = '', turn] = /^([^:]*?)(?::(.*))?@turn:(\d{1,15})$/s.exec(key) ?? [];
  if (kind === undefined) return key;
  if (kind === 'file' && subject) return `file ${subject} as read in turn ${turn}`;
  return `${kind}${subject && ` with ${subject}`} in turn ${turn}`;
};

export const evictedContent = (key: string): EvictedContent => ({ key, name: keyName(key) });

/** The note in place of what was cut out of the content of this key. */
export const cutNote = (key: string, left: number, all: number): string =>
  `[… ${left} of ${all} characters left out; recall "${keyName(key)}" for all of it …]`;
