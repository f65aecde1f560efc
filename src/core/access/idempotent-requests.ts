import { hash } from 'node:crypto';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { Json } from '../../schema/json.ts';
import type { CallerAccess, RecordAccess } from '../engine/scope.ts';
import type { StoredRecord } from '../ports/records.ts';
import { canonical } from '../session/events/input-hash.ts';

export type OnceScope = Pick<RecordAccess & CallerAccess, 'records' | 'workspace' | 'clock' | 'actor'>;

export interface OnceRequest {
  readonly key: string;
  /** What is asked for, in words of the caller: the same key must come with the same. */
  readonly of: string;
  readonly body: Json;
}

/** An answer as it is kept: absent while somebody works on it, and when it was never known. */
interface Kept {
  readonly bodyHash: string;
  readonly answer?: Json;
}

const keptForMs = 24 * 3_600_000;
const removedAtOnce = 20;

/** After these it is not known whether it was done. */
const isOpen = (error: unknown): boolean =>
  !isPerdureError(error) || isPerdureError(error, 'STORE_UNAVAILABLE') || isPerdureError(error, 'RUNTIME_CLOSED');

const answerOf = ({ body }: StoredRecord, bodyHash: string): Json => {
  const kept = body as unknown as Kept;
  if (kept.bodyHash !== bodyHash) {
    throw new PerdureError(
      'KEY_REUSED',
      'this idempotency key was used for something else: take a new key for a new request',
    );
  }
  if (kept.answer !== undefined) return kept.answer;
  throw new PerdureError(
    'KEY_IN_USE',
    'what came with this idempotency key is being done, or it is not known how it ended: look whether it was done, and take a new key if it was not',
  );
};

const removeOld = async ({ records, workspace, clock }: OnceScope): Promise<void> => {
  const old = await records.records(workspace, 'reply', { dueBy: clock.now(), limit: removedAtOnce });
  for (const { kind, id, version } of old) {
    await records.writeRecords(workspace, [{ kind, id, onVersion: version, body: undefined }]);
  }
};

/** Does something once under a key of this member, and gives the first answer to who asks again within a day. */
export const answerOnce = async <Answer extends Json>(
  scope: OnceScope,
  { key, of, body }: OnceRequest,
  work: () => Promise<Answer>,
): Promise<Answer> => {
  const { records, workspace, clock, actor } = scope;
  const ref = { kind: 'reply', id: hash('sha256', `${actor}\n${key}`, 'hex') } as const;
  const bodyHash = hash('sha256', JSON.stringify(canonical({ of, body })), 'hex');
  const keep = (kept: Kept | undefined, onVersion: number): Promise<boolean> =>
    records.writeRecords(workspace, [
      { ...ref, onVersion, body: kept as Json | undefined, ...(kept && { dueAt: clock.now() + keptForMs }) },
    ]);
  const now = () => records.record(workspace, ref.kind, ref.id);
  for (let isMine = false; !isMine; ) {
    const before = await now();
    const isOld = before?.dueAt !== undefined && before.dueAt <= clock.now();
    if (before && !isOld) return answerOf(before, bodyHash) as Answer;
    isMine = await keep({ bodyHash }, before?.version ?? 0);
  }
  const { version } = (await now())!;
  let answer: Answer;
  try {
    answer = await work();
  } catch (error) {
    if (!isOpen(error)) await keep(undefined, version);
    throw error;
  }
  await keep({ bodyHash, answer: answer ?? null }, version);
  await removeOld(scope);
  return answer;
};
