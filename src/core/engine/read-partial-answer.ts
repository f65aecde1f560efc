import type { MessageId } from '../../schema/ids.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodePayload } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { addPieces, noPieces, type PartialAnswer } from '../session/runs/partial-answer.ts';
import { readForward } from './read-log.ts';
import type { LogAccess } from './scope.ts';

interface PiecesRange {
  readonly message: MessageId;
  readonly after: number;
  readonly upTo: number;
}

/** Reads the stored pieces of an answer. */
export const readPieces = async (
  { store }: Pick<LogAccess, 'store'>,
  key: SessionKey,
  { message, after, upTo }: PiecesRange,
): Promise<PartialAnswer> => {
  let answer = noPieces(message);
  for await (const stored of readForward(store, key, { after, upTo })) {
    if (stored.type !== 'message.progressed') continue;
    const progressed = decodePayload(stored, stored.type);
    if (progressed.message === message) answer = addPieces(answer, progressed);
  }
  return answer;
};

/** Reads what the log has of the answer that is being written at this fold. Returns undefined if it has nothing. */
export const readPartialAnswer = async (
  scope: Pick<LogAccess, 'store'>,
  key: SessionKey,
  { run, seq }: Pick<SessionFold, 'run' | 'seq'>,
): Promise<PartialAnswer | undefined> => {
  const asked = run?.asked;
  return asked?.hasPieces ? readPieces(scope, key, { message: asked.message, after: asked.seq, upTo: seq }) : undefined;
};
