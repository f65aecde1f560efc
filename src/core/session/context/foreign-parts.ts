import type { AssistantPart, Message } from '../../../schema/message.ts';
import { providerOf } from '../../ports/model.ts';
import type { ContextEntry } from './context-units.ts';

const withoutProvider = ({ provider: _, ...part }: AssistantPart): AssistantPart => part as AssistantPart;

/** The stripped messages, because estimates of tokens are cached by message. */
const stripped = new WeakMap<Message, Message>();

const strip = (message: Extract<Message, { role: 'assistant' }>): Message => {
  const known = stripped.get(message);
  if (known) return known;
  const content = message.content.filter(({ type }) => type !== 'reasoning').map(withoutProvider);
  const plain = { ...message, content };
  stripped.set(message, plain);
  return plain;
};

/**
 * Removes reasoning and provider metadata from answers that a model of another provider wrote. Other providers reject
 * signatures that they did not issue. An answer whose author is unknown stays as it is.
 */
export const withoutForeignParts = (entries: readonly ContextEntry[], model: string): readonly ContextEntry[] => {
  const provider = providerOf(model);
  return entries.map((entry) => {
    const { message, model: author } = entry;
    const isForeign = message.role === 'assistant' && author !== undefined && providerOf(author) !== provider;
    return isForeign ? { ...entry, message: strip(message) } : entry;
  });
};
