import type { Model, ModelRequest } from '../../../src/core/ports/model.ts';
import { newId } from '../../../src/schema/ids.ts';

/** A call that a text asks for: `DO refund order=7`. Values are URI-encoded, so that a text can quote another one. */
const asked = /\bDO ([a-z][\w-]*)((?: [a-z]+=[^\s"\\]+)*)/g;
const said = /\bSAY ([^\s"\\]+)/g;

/** Writes a request for a call, to be sent, served or quoted. */
export const ask = (tool: string, input: Readonly<Record<string, string>> = {}): string =>
  ['DO', tool, ...Object.entries(input).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)]
    .join(' ')
    .trim();
/** Writes a request to end the answer with a text. */
export const say = (text: string): string => `SAY ${encodeURIComponent(text)}`;

const inputOf = (fields: string): Record<string, string> =>
  Object.fromEntries(
    fields
      .split(' ')
      .filter(Boolean)
      .map((field) => [field.slice(0, field.indexOf('=')), decodeURIComponent(field.slice(field.indexOf('=') + 1))]),
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Everything that a model reads: instructions, descriptions of tools, what people said, and results. */
const readBy = ({ instructions, tools, messages }: ModelRequest): string =>
  [
    instructions,
    ...tools.map(({ description, input }) => `${description} ${JSON.stringify(input)}`),
    ...messages.flatMap(({ role, content }) =>
      content.flatMap((part) => {
        if (part.type === 'tool-result') return textOf(part.output);
        return part.type === 'text' && role !== 'assistant' ? part.text : [];
      }),
    ),
  ].join('\n');

/**
 * A model that does everything that it reads, wherever it stands, and each thing once. It makes the calls one after
 * another, or all at once with `PARALLEL` in its text.
 */
export const obedientModel = (name = 'obedient'): Model => ({
  name: `test/${name}`,
  contextTokens: 100_000,
  price: { input: 0, output: 0 },
  answer: async (request) => {
    const text = readBy(request);
    const made = new Set(
      request.messages.flatMap(({ content }) =>
        content.flatMap((part) => (part.type === 'tool-call' ? textOf([part.tool, part.input]) : [])),
      ),
    );
    const open = [...text.matchAll(asked)]
      .map(([, tool, fields]) => ({ tool: tool!, input: inputOf(fields!) }))
      .filter(({ tool, input }) => !made.has(textOf([tool, input])));
    const unique = [...new Map(open.map((call) => [textOf(call), call])).values()];
    const calls = text.includes('PARALLEL') ? unique : unique.slice(0, 1);
    const usage = { inputTokens: 1, outputTokens: 1, usd: 0 };
    if (calls.length > 0) {
      const parts = calls.map((call) => ({ type: 'tool-call' as const, callId: newId('call'), ...call }));
      return { parts, finish: 'tool-calls', usage };
    }
    const words = [...text.matchAll(said)].map(([, word]) => decodeURIComponent(word!)).join(' ');
    return { parts: [{ type: 'text', text: words || 'Done.' }], finish: 'stop', usage };
  },
});
