import type { MessageInput, SessionId } from '../../src/index.ts';

/** An append that can be repeated identically and recognised by the mark in each of its messages. */
export interface MarkedAppend {
  readonly session: SessionId;
  /** Unique among all appends of a test. */
  readonly mark: string;
  readonly key?: string | undefined;
  /** The length of each message in characters. One message is a fact; several form a turn with tool calls. */
  readonly sizes: readonly number[];
}

export interface Mark {
  readonly mark: string;
  readonly place: number;
  readonly count: number;
}

const longest = 100_000;
const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Text that hardly compresses and is the same in every process. */
const filler = (() => {
  let state = 1;
  return Array.from({ length: 2 * longest }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return digits[state >>> 26];
  }).join('');
})();

const fill = (mark: string, place: number, size: number): string => {
  const start = (Number.parseInt(mark.replaceAll(/\D/g, ''), 10) * 7919 + place * 101) % longest;
  return filler.slice(start, start + size);
};

const messageAt = (text: string, mark: string, place: number, count: number): MessageInput => {
  const part = { type: 'text', text } as const;
  if (place === 0) return { role: 'user', content: [part] };
  if (place === count - 1) return { role: 'assistant', content: [part] };
  const call = { callId: `${mark}-${Math.ceil(place / 2)}`, tool: 'look' };
  return place % 2 === 1
    ? { role: 'assistant', content: [part, { type: 'tool-call', ...call, input: {} }] }
    : { role: 'tool', content: [{ type: 'tool-result', ...call, outcome: 'ok', output: text }] };
};

/** A question, calls with their results, and an answer. All messages together leave no call open. */
export const messagesOf = ({ mark, sizes }: MarkedAppend): readonly MessageInput[] =>
  sizes.map((size, place) =>
    messageAt(`~${mark}:${place + 1}/${sizes.length}~${fill(mark, place, size)}`, mark, place, sizes.length),
  );

/** The mark in a stored payload; undefined if the payload is not one of our messages. */
export const findMark = (payload: Uint8Array): Mark | undefined => {
  const found = /~([\d.]+):(\d+)\/(\d+)~/.exec(Buffer.from(payload).toString('latin1', 0, 1000));
  return found ? { mark: found[1]!, place: Number(found[2]), count: Number(found[3]) } : undefined;
};
