import { randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { MessageInput } from '../src/index.ts';

/** The text that a working agent writes: prose for people, source for tools. */
export interface Content {
  readonly name: string;
  prose(bytes: number): string;
  source(bytes: number): string;
}

const root = fileURLToPath(new URL('..', import.meta.url));

const textOf = (...patterns: readonly string[]): Buffer =>
  Buffer.concat(
    globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] })
      .toSorted()
      .map((path) => readFileSync(`${root}/${path}`)),
  );

const isInsideCharacter = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

const characterAt = (text: Buffer, near: number): number => {
  let at = near;
  while (isInsideCharacter(text[at])) at++;
  return at;
};

/** Returns slices of a text, as if read from a file. The stride visits every position before any repeats. */
const slicer = (text: Buffer, stride: number): ((bytes: number) => string) => {
  let at = 0;
  return (bytes) => {
    at = (at + stride) % (text.length - bytes);
    return text.toString('utf8', characterAt(text, at), characterAt(text, at + bytes));
  };
};

/** This project's own sources and documents, never the same slice twice in a row. */
export const realContent = (): Content => ({
  name: 'real text',
  prose: slicer(textOf('*.md', 'docs/**/*.md', 'LICENSE'), 7919),
  source: slicer(textOf('{src,test,scripts,bench}/**/*.ts', '*.md'), 104_729),
});

/** Text that no compression makes smaller than three quarters. */
export const randomContent = (): Content => {
  const noise = (bytes: number) =>
    randomBytes(Math.ceil((bytes * 3) / 4))
      .toString('base64')
      .slice(0, bytes);
  return { name: 'random base64', prose: noise, source: noise };
};

export const eventBytes = 5000;
export const eventsPerTurn = 8;
const userBytes = 500;
const answerBytes = 1500;
const inputBytes = 300;
const outputBytes = 4096;

/** A user's message, which may follow any event; it opens a turn. */
export const oneEvent = (content: Content): MessageInput => ({ role: 'user', content: content.source(eventBytes) });

let calls = 0;

const callAndResult = (content: Content): MessageInput[] => {
  const callId = `call_${++calls}`;
  const tool = 'read_file';
  const input = { path: `src/part-${calls % 97}.ts`, why: content.prose(inputBytes - 45) };
  return [
    { role: 'assistant', content: [{ type: 'tool-call', callId, tool, input }] },
    {
      role: 'tool',
      content: [{ type: 'tool-result', callId, tool, outcome: 'ok', output: content.source(outputBytes) }],
    },
  ];
};

/** A question, three tool calls with their results, an answer: 8 events, 15.2 kB. */
export const oneTurn = (content: Content): readonly MessageInput[] => [
  { role: 'user', content: content.prose(userBytes) },
  ...callAndResult(content),
  ...callAndResult(content),
  ...callAndResult(content),
  { role: 'assistant', content: content.prose(answerBytes) },
];
