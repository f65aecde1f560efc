import type { Damage } from '../../schema/damage.ts';
import { newId, type SessionId } from '../../schema/ids.ts';
import type { WriteAccess } from '../engine/scope.ts';
import type { SessionKey, StoredEvent } from '../ports/store.ts';
import { decideFork } from '../session/decide.ts';
import { eventHash, payloadDigest, saltBytes } from '../session/events/chain.ts';
import { encodeEvent } from '../session/events/event-codec.ts';
import { redactDraft } from '../session/redaction/redact-draft.ts';

/** A fork that exists only in a bundle, with its own events. */
export interface BundledFork {
  readonly session: SessionId;
  readonly parent: { readonly session: SessionId; readonly seq: number };
  readonly events: readonly [StoredEvent, ...StoredEvent[]];
}

/**
 * Makes the fork that continues a damaged session from a point, as `repair` would, but without writing it to the
 * store. So an export changes nothing, and its bundle can be imported and continued.
 */
export const bundledFork = async (
  scope: WriteAccess,
  key: SessionKey,
  at: number,
  lost: Damage,
): Promise<BundledFork> => {
  const point = await scope.folds.at(key, at);
  const redactor = await scope.secrets.redactor();
  const session = newId('ses', scope.clock.now());
  let seq = point.seq;
  let hash: Uint8Array = Buffer.from(point.hash, 'hex');
  const events = decideFork(point, scope.actor, { lost }).map((draft): StoredEvent => {
    const { payload, type, version, actor, run } = encodeEvent(redactDraft(draft, redactor));
    const time = Math.max(scope.clock.now(), point.at);
    const header = { session, seq: ++seq, at: time, turn: point.turn, run, type, version, actor };
    const salt = scope.random.bytes(saltBytes);
    hash = eventHash(hash, header, payloadDigest(salt, payload));
    return { ...header, opensTurn: false, body: { kind: 'bytes', salt, bytes: payload }, hash };
  });
  return {
    session,
    parent: { session: point.session, seq: point.seq },
    events: events as [StoredEvent, ...StoredEvent[]],
  };
};
