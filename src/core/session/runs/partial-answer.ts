import type { EventDraft, PayloadOf } from '../../../schema/event.ts';
import type { MessageId } from '../../../schema/ids.ts';
import type { BrokenContent, BrokenOff } from '../../../schema/message.ts';
import type { Usage } from '../../../schema/run.ts';
import { clip } from '../context/clip.ts';

export type AnswerText = PayloadOf<'message.progressed'>['pieces'][number];
type Kind = AnswerText['type'];

/** What the log has of an answer that is not complete. */
export interface PartialAnswer {
  readonly message: MessageId;
  /** The text by kind, in the order in which the kinds began. */
  readonly texts: ReadonlyMap<Kind, string>;
  /** The number of characters by kind, including those that `texts` leaves out. */
  readonly chars: ReadonlyMap<Kind, number>;
  /** The newest estimate. */
  readonly usage?: Usage | undefined;
  readonly usedBy?: PayloadOf<'message.progressed'>['usedBy'];
}

/** The maximum length of a broken-off answer. Longer ones stay complete in the log, as pieces. */
export const maxBrokenChars = 1024 * 1024;

export const noPieces = (message: MessageId): PartialAnswer => ({ message, texts: new Map(), chars: new Map() });

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, each) => total + each, 0);

/** The part of a piece that comes after the first `chars` characters of its kind. */
export const restOfPiece = ({ type, offset, text }: AnswerText, chars: number): AnswerText => {
  const known = Math.min(text.length, Math.max(0, chars - offset));
  return { type, offset: offset + known, text: text.slice(known) };
};

const addPiece = (answer: PartialAnswer, piece: AnswerText): PartialAnswer => {
  const known = answer.chars.get(piece.type) ?? 0;
  const { type, text } = restOfPiece(piece, known);
  if (text === '') return answer;
  const before = answer.texts.get(type) ?? '';
  const isCut = before.length < known;
  const room = isCut ? 0 : maxBrokenChars - sum([...answer.texts.values()].map(({ length }) => length));
  return {
    ...answer,
    texts: new Map(answer.texts).set(type, before + clip(text, room)),
    chars: new Map(answer.chars).set(type, known + text.length),
  };
};

/** Adds the pieces of one event. A piece that was stored twice counts once. */
export const addPieces = (
  answer: PartialAnswer,
  { pieces, usage, usedBy }: Pick<PayloadOf<'message.progressed'>, 'pieces' | 'usage' | 'usedBy'>,
): PartialAnswer => ({ ...pieces.reduce(addPiece, answer), usage, usedBy });

/** The content of a broken-off answer, and how much of it is left out. */
export const brokenContent = ({
  texts,
  chars,
}: PartialAnswer): Pick<PayloadOf<'message.abandoned'>, 'content' | 'omittedChars'> => {
  const content = [...texts].flatMap(([type, text]): BrokenContent => (text === '' ? [] : [{ type, text }]));
  const omittedChars = sum(chars.values()) - sum(content.map(({ text }) => text.length));
  return { ...(content.length > 0 && { content }), ...(omittedChars > 0 && { omittedChars }) };
};

/** Whether a broken-off answer adds to one whose charge has already counted the request. */
export const isRestOfCall = ({ isRest, usage }: PayloadOf<'message.abandoned'>): boolean =>
  isRest === true && usage?.inputTokens === 0;

/** The event that says that an answer broke off, with the part of it that the log has. */
export const abandoned = (
  message: MessageId,
  why: BrokenOff,
  partial: PartialAnswer | undefined,
  common: Pick<EventDraft, 'actor' | 'turn' | 'run'>,
): EventDraft<'message.abandoned'> => {
  const { usage, usedBy } = partial ?? {};
  const payload = { message, why, ...(partial && brokenContent(partial)), ...(usage && { usage, usedBy }) };
  return { type: 'message.abandoned', payload, ...common };
};
