import { Message } from '../../../schema/message.ts';
import type { Context } from '../context/context.ts';
import type { Redactor } from './redact.ts';
import { redactAs } from './redact-draft.ts';

/** Removes secrets from a context. The log can hold a secret that was written before it was added to the vault. */
export const redactContext = (context: Context, redactor: Redactor): Context => ({
  ...context,
  system: redactor.text(context.system),
  evicted: context.evicted.map(({ key, name }) => ({ key: redactor.text(key), name: redactor.text(name) })),
  messages: context.messages.map((message) => redactAs(Message, message, redactor)),
});
