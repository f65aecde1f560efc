import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { Visibility } from '../../schema/reaches.ts';
import { Sharing } from '../../schema/sharing.ts';
import { execute } from '../engine/execute.ts';
import { readForward } from '../engine/read-log.ts';
import { type Caller, keyOf, type SightAccess, seeingAll, type WriteAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodePayload } from '../session/events/event-codec.ts';

export interface ShareOptions {
  /** Who sees the session besides its owner and the members it is shared with: the `workspace`, or nobody (`private`). */
  readonly visibility?: Visibility | undefined;
  /** The members that the session is shared with by name, 100 at most. Replaces the earlier list. */
  readonly sharedWith?: readonly string[] | undefined;
}

const Options = Sharing.refine(({ visibility, sharedWith }) => visibility !== undefined || sharedWith !== undefined, {
  error: 'expected visibility, sharedWith or both',
}) satisfies z.ZodType<unknown, ShareOptions>;

interface ShareAccess extends WriteAccess, Pick<SightAccess, 'whole'> {
  audited<T>(verb: string, target: string | undefined, work: () => Promise<T>): Promise<T>;
}

const notTheOwner = ({ session }: SessionKey, { member }: Caller): PerdureError =>
  new PerdureError(
    'FORBIDDEN',
    `${member} does not own ${session}, and only its owner or an admin changes who sees it: ask one of them`,
    { details: { verb: 'session.share', session } },
  );

/** The sessions in which subagents work for calls between two events of this session. */
async function* subagentsOf(
  scope: WriteAccess,
  key: SessionKey,
  range: { readonly after: number; readonly upTo: number },
): AsyncGenerator<SessionKey, void, void> {
  // The fold forgets subagents that have ended.
  for await (const stored of readForward(scope.store, key, range)) {
    if (stored.type !== 'child.opened' || stored.body.kind !== 'bytes') continue;
    yield keyOf(scope, decodePayload(stored, 'child.opened').session);
  }
}

/**
 * Shares a session and those of its subagents. The subagents come first, so that a repeated call completes what a crash
 * interrupted. Those that are opened meanwhile come last. One that is opened after the change inherits it.
 */
const shareWithSubagents = async (scope: WriteAccess, key: SessionKey, sharing: Sharing): Promise<void> => {
  const head = await scope.store.head(key);
  if (!head) return; // a bundle left it out
  const { summary, seq } = head;
  const shareThose = async (range: { readonly after: number; readonly upTo: number }): Promise<void> => {
    for await (const child of subagentsOf(scope, key, range)) await shareWithSubagents(scope, child, sharing);
  };
  // Inherited events name the subagents of the parent.
  if (summary.agent || summary.rewound) await shareThose({ after: head.parent?.seq ?? 0, upTo: seq });
  const [shared] = await execute(scope, key, { type: 'share', ...sharing });
  await shareThose({ after: seq, upTo: shared!.seq });
};

/**
 * Changes who sees a session and the sessions of its subagents, also of those that the caller's token does not name.
 * The change lands at any head, because a busy run must not delay it.
 */
export const shareSession = async (scope: ShareAccess, key: SessionKey, input: ShareOptions): Promise<void> => {
  const sharing = parseInput('the sharing', Options, input);
  const { caller } = scope;
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  const change = (): Promise<void> => shareWithSubagents(seeingAll(scope), key, sharing);
  if (head.summary.owner === caller.member) return change();
  if (!isAtLeast(caller.role, 'admin') || caller.reach === 'own') throw notTheOwner(key, caller);
  await scope.audited('session.share', key.session, change);
};
