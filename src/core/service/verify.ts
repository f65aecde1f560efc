import type { SessionKey } from '../ports/store.ts';
import { genesisHash, linkProblem } from '../session/chain.ts';
import type { Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

export type Verification =
  | { readonly ok: true; readonly events: number; readonly hash: string }
  | { readonly ok: false; readonly events: number; readonly bad: { readonly seq: number; readonly reason: string } };

const pageEvents = 500;
const pageBytes = 4 * 1024 * 1024;

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
  while (previous.seq < head.seq) {
    const page = await scope.store.read(key, {
      after: previous.seq,
      upTo: head.seq,
      limit: pageEvents,
      maxBytes: pageBytes,
    });
    if (page.length === 0) return bad(previous.seq + 1, `event ${previous.seq + 1} is missing`);
    for (const event of page) {
      const reason = linkProblem(previous, event);
      if (reason) return bad(previous.seq + 1, reason);
      previous = event;
    }
  }
  if (!Buffer.from(previous.hash).equals(head.hash)) return bad(head.seq, 'the session names another hash as its head');
  return { ok: true, events: previous.seq, hash: Buffer.from(previous.hash).toString('hex') };
};
