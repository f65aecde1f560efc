import { hash } from 'node:crypto';
import type { Message } from '../../../schema/message.ts';
import { shorten } from '../context/clip.ts';
import { canonical } from '../events/input-hash.ts';

export const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(canonical(value)) ?? 'null', 'hex');

type Part = Message['content'][number];

/** What a part says, without ids and provider data, which differ between two equal answers. */
const contentOf = (part: Part): unknown => {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [part.type, part.text];
    case 'file':
      return [part.type, part.mediaType, part.name ?? null, part.data];
    case 'tool-call':
      return [part.type, part.tool, part.input];
    case 'tool-result':
      return [part.type, part.tool, part.outcome, part.output];
  }
};

/** Equal for two messages that say the same. */
export const digestOfMessage = (role: string, content: readonly Part[]): string =>
  digestOf([role, content.map(contentOf)]);

/** The text of one kind in a message. Undefined if the message has none. */
export const textIn = (content: readonly Part[], type: 'text' | 'reasoning'): string | undefined => {
  const texts = content.flatMap((part) => (part.type === type ? [part.text] : []));
  return texts.length > 0 ? texts.join('\n') : undefined;
};

/** The beginning of a JSON value as text. */
export const valueText = (value: unknown, maxChars: number): string =>
  shorten(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), maxChars).toWellFormed();
