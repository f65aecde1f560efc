import type { Message } from './message.ts';

/** Marks a part that the runtime wrote itself, to report something to the model. Providers ignore the mark. */
export const reportMark = { perdure: { report: true } } as const;

const isMarked = (provider: unknown): boolean =>
  (provider as Partial<typeof reportMark> | undefined)?.perdure?.report === true;

/** Whether the message is a report of the runtime, and not the words of a person. */
export const isReport = ({ role, content }: Message): boolean =>
  role === 'user' && content.length > 0 && content.every((part) => isMarked(part.provider));
