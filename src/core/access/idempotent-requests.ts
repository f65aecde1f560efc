import { hash } from 'node:crypto';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { Json } from '../../schema/json.ts';
import type { CallerAccess, RecordAccess } from '../engine/scope.ts';
import type { StoredRecord } from '../ports/records.ts';
import { canonical } from '../session/events/input-hash.ts';

export type OnceScope = Pick<RecordAccess & CallerAccess, 'records' | 'workspace' | 'clock' | 'actor'>;

export interface OnceRequest {
  readonly key: string;
  /** Names the operation. A repeated key must have an equal `of` and `body`. */
  readonly of: string;
  readonly body: Json;
}

/** A stored answer. The answer is absent while the work is in progress, or if the outcome is unknown. */
interface Kept {
  readonly bodyHash: string;
  readonly answer?: Json;
}

const keptForMs = 24 * 3_600_000;
const removedAtOnce = 20;

/** Whether an error leaves it unknown whether the work was done. */
const isOpen = (error: unknown): boolean =>
  !isPerdureError(error) || isPerdureError(error, 'STORE_UNAVAILABLE') || isPerdureError(error, 'RUNTIME_CLOSED');

const answerOf = ({ body }: StoredRecord, bodyHash: string): Json => {
  const kept = body as unknown as Kept;
  if (kept.bodyHash !== bodyHash) {
    throw new PerdureError(
      'KEY_REUSED',
      'this idempotency key was already used for a different request: use a new key',
    );
  }
  if (kept.answer !== undefined) return kept.answer;
  throw new PerdureError(
    'KEY_IN_USE',
    'the request with this idempotency key is in progress, or its outcome is unknown: check whether it was done, and use a new key if it was not',
  );
};

const removeOld = async ({ records, workspace, clock }: OnceScope): Promise<void> => {
  const old = await records.records(workspace, 'reply', { dueBy: clock.now(), limit: removedAtOnce });
  for (const { kind, id, version } of old) {
    await records.writeRecords(workspace, [{ kind, id, onVersion: version, body: undefined }]);
  }
};

/** Executes the work once per member and key. Within a day, a repeated request returns the first answer. */
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
