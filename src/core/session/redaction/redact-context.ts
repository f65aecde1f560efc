import { Message } from '../../../schema/message.ts';
import type { Context } from '../context/context.ts';
import type { Redactor } from './redact.ts';
import { redactAs } from './redact-draft.ts';

/** As a model may be given it: also what the log has from before a secret was known is not told. */
export const redactContext = (context: Context, redactor: Redactor): Context => ({
  ...context,
  system: redactor.text(context.system),
  messages: context.messages.map((message) => redactAs(Message, message, redactor)),
});
