import { isDeepStrictEqual } from 'node:util';
import { maxSharedWith, type Ownership, type Sharing } from '../../schema/sharing.ts';
import type { Head } from '../ports/store.ts';

/**
 * The owner and the sharing that a fork or a subagent of the session inherits. The member that holds the session sees
 * the new one too. Reads the head, because a fork of an earlier point must not undo a later change of visibility.
 */
export const ownershipOf = (head: Pick<Head, 'summary'> | undefined): Ownership => {
  const { owner, visibility, sharedWith = [], handoff } = head?.summary ?? {};
  const seenBy = handoff?.member ? [...new Set([handoff.member, ...sharedWith])].slice(0, maxSharedWith) : sharedWith;
  return {
    ...(owner && { owner }),
    ...(visibility && { visibility }),
    ...(seenBy.length > 0 && { sharedWith: [...seenBy] }),
  };
};

/** The change that gives the child the sharing that it would inherit now, or undefined if it has it. */
export const inheritedSharing = (
  parent: Pick<Head, 'summary'> | undefined,
  child: Pick<Head, 'summary'> | undefined,
): Required<Sharing> | undefined => {
  const { visibility = 'workspace', sharedWith = [] } = ownershipOf(parent);
  const { visibility: isSeenIn = 'workspace', sharedWith: isSharedWith = [] } = child?.summary ?? {};
  const isSame = visibility === isSeenIn && isDeepStrictEqual(sharedWith, [...isSharedWith]);
  return isSame ? undefined : { visibility, sharedWith };
};
