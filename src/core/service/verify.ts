import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { SessionKey } from '../ports/store.ts';
import { genesisHash, linkProblem } from '../session/chain.ts';
import { readForward } from './read-log.ts';
import type { Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

export type Verification =
  | { readonly ok: true; readonly events: number; readonly hash: string }
  | { readonly ok: false; readonly events: number; readonly bad: { readonly seq: number; readonly reason: string } };

/** The first commit of the live lineage that does not apply. Undefined also when there is no fold, as of a log with redacted parts. */
const damageOf = async (scope: Scope, key: SessionKey) => {
  try {
    return (await scope.folds.outline(key)).damage;
  } catch (error) {
    if (error instanceof PerdureError) return undefined;
    throw error;
  }
};

/** Walks the chain from the first event to the head, inherited events included, and stops at the first that is not as it was written. */
export const verifySession = async (scope: Scope, key: SessionKey): Promise<Verification> => {
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  let previous: { seq: number; hash: Uint8Array } = { seq: 0, hash: genesisHash };
  const bad = (seq: number, reason: string): Verification => ({
    ok: false,
    events: previous.seq,
    bad: { seq, reason },
  });
  try {
    for await (const event of readForward(scope.store, key, { after: 0, upTo: head.seq })) {
      const reason = linkProblem(previous, event);
      if (reason) return bad(event.seq, reason);
      previous = event;
    }
  } catch (error) {
    if (isPerdureError(error, 'EVENT_DAMAGED')) return bad(previous.seq + 1, String(error.details.reason));
    throw error;
  }
  if (!Buffer.from(previous.hash).equals(head.hash)) return bad(head.seq, 'the session names another hash as its head');
  const damage = await damageOf(scope, key);
  if (damage) return bad(damage.seq, damage.reason);
  return { ok: true, events: previous.seq, hash: Buffer.from(previous.hash).toString('hex') };
};
