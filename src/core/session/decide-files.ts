import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { type Actor, outsideActor } from '../../schema/ids.ts';
import type { ChangedFile } from '../../schema/state.ts';
import { type CommitCommand, decideCommit } from './decide-commit.ts';
import type { SessionFold } from './fold.ts';
import type { Redactor } from './redaction/redact.ts';
import { applyFileChanges, countChanges } from './state/file-entries.ts';
import { isSameJson } from './state/patch-between.ts';
import { inheritTaint } from './taint-fold.ts';

type Snapshotted = PayloadOf<'files.snapshotted'>;

/** A new snapshot of a session's files. */
export interface NewFiles extends Pick<Snapshotted, 'tree' | 'leftOut'> {
  /** The changes since the tree in the fold. */
  readonly changes: readonly ChangedFile[];
  readonly cause?: Snapshotted['cause'];
  readonly origin?: Snapshotted['origin'];
  /** The other members whose files these are. */
  readonly contributors?: readonly Actor[] | undefined;
}

export const snapshotDraft = (
  { turn }: SessionFold,
  { tree, leftOut, changes, cause, origin, contributors }: NewFiles,
  actor: Actor,
): EventDraft => ({
  type: 'files.snapshotted',
  payload: {
    tree,
    leftOut,
    changed: countChanges(changes),
    cause,
    origin,
    ...(contributors?.length && { contributors: [...contributors] }),
  },
  actor,
  turn,
});

/** A commit that can change the files too. */
export interface CommitWithFiles extends CommitCommand {
  readonly files?: NewFiles | undefined;
}

/** A change of the files that no tool call made. */
export interface FilesCommand extends Pick<CommitCommand, 'why' | 'agents'> {
  readonly type: 'files';
  readonly files: NewFiles;
  /** The changes that lost a conflict. */
  readonly conflicts?: PayloadOf<'files.conflicted'> | undefined;
  /** The fold of the place that the files come from. */
  readonly restores?: SessionFold | undefined;
}

const isKnown = ({ files }: SessionFold, { tree, leftOut }: NewFiles): boolean =>
  files?.tree === tree && isSameJson(files.leftOut, leftOut);

/**
 * Returns the snapshot event and the commit of its changes. The initial folder or repository of a session is not
 * recorded as a change.
 */
export const decideFiles = (
  fold: SessionFold,
  { files, conflicts, why, agents, restores }: FilesCommand,
  actor: Actor,
  redactor: Redactor,
): readonly EventDraft[] => {
  const { changes, cause } = files;
  const isChange = changes.length > 0 && files.origin?.kind !== 'folder' && files.origin?.kind !== 'git';
  const change = (draft: Parameters<typeof applyFileChanges>[0]) =>
    applyFileChanges(draft, changes, cause ?? { after: fold.seq });
  const by = cause || actor === outsideActor ? 'tool' : 'member';
  const commit = isChange && decideCommit(fold, { type: 'commit', change, by, cause, why, agents }, actor, redactor);
  return [
    ...(conflicts ? [{ type: 'files.conflicted', payload: conflicts, actor, turn: fold.turn } as const] : []),
    ...(isKnown(fold, files) ? [] : [snapshotDraft(fold, files, actor)]),
    ...(commit ? [commit] : []),
    ...(restores ? inheritTaint(restores, { via: 'restore', actor, turn: fold.turn }) : []),
  ];
};
