import { readdir } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { type Actor, outsideActor, type RunId } from '../../schema/ids.ts';
import { retryConflicts } from '../engine/conflict-retry.ts';
import { bindTo } from '../engine/open-files.ts';
import type { RunWriter } from '../engine/run-writer.ts';
import type { AgentAccess, WorktreeAccess, WriteAccess } from '../engine/scope.ts';
import type { SnapshotWithChanges } from '../files/disk/files-protocol.ts';
import { type Mark, makePlace, newWorktree, readMark, type WorktreePlace, writeMark } from '../files/disk/place.ts';
import { lockPlace } from '../files/disk/place-lock.ts';
import { leftOutOf } from '../files/left-out.ts';
import { emptyTree, treeOf } from '../files/tree.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { Tool } from '../ports/tool.ts';
import { decideFiles, type NewFiles } from '../session/decide-files.ts';
import type { UntoldCall } from '../session/files-fold.ts';
import type { SessionFold } from '../session/fold.ts';
import { conflicted, type JoinedFiles, joinFiles } from './join-files.ts';

type Cause = NonNullable<NewFiles['cause']>;

/** The result of a worktree scan that found changes since the tree `base`. */
export interface Look {
  readonly base: BlobHash;
  readonly files: NewFiles;
}

/** The changes of a scan, merged into the session's tree `on`, so that they can be recorded. */
export interface FoundFiles {
  readonly on: BlobHash;
  readonly files: NewFiles;
  readonly conflicts?: JoinedFiles['conflicts'];
}

export const mayWrite = (tool: Tool | undefined): boolean => tool?.usesFiles === true && tool.effects !== 'none';

const moved = (paths: readonly string[], to: string): PerdureError =>
  new PerdureError(
    'CONFLICT',
    `files that no snapshot holds were in the way of a restore, and are now in ${to}: ${paths.slice(0, 5).join(', ')}`,
    {
      details: { paths, to },
    },
  );

/** Returned if the session's files changed after the merge, so `retryConflicts` merges again. */
const filesMoved = { conflict: undefined };

/** Whether the session was rewound after the mark. The last range of the live lineage begins at the newest rewind. */
const isRewoundSince = ({ live }: SessionFold, { seq }: Mark): boolean => live.at(-1)![0] > seq;

const newFiles = (taken: SnapshotWithChanges): NewFiles => ({
  tree: taken.root,
  changes: taken.changes,
  leftOut: leftOutOf(taken),
});

export type FilesWriter = Pick<RunWriter, 'key' | 'fold' | 'decide' | 'record'>;

/**
 * The agent's `prepare` command, which recreates files that snapshots leave out. Each execution is recorded as a
 * separate call.
 */
export interface Preparation {
  newCause(): Cause;
  /**
   * Whether the command may run in a worktree with this tree. `unanswered` means that a person must approve it first.
   * `refused` means that a person denied it, or let the approval expire.
   */
  permission(tree: BlobHash): Promise<'granted' | 'unanswered' | 'refused'>;
  /** Records that the command was refused. The run continues without it. */
  skip(tree: BlobHash): Promise<void>;
  run(place: WorktreePlace, cause: Cause): Promise<void>;
}

interface Parts {
  readonly scope: WriteAccess & WorktreeAccess & AgentAccess;
  readonly writer: FilesWriter;
  readonly place: WorktreePlace;
  /** The run that uses the files. Absent when no run is in progress. */
  readonly run?: RunId | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Absent if the agent has no `prepare` command. */
  readonly prepare?: Preparation | undefined;
  /** The lock on a person's own folder, if the caller already holds it. */
  readonly lock?: Disposable;
}

/**
 * The worktree of a run. Before a tool uses the worktree, it is updated to the files in the log. After a tool may have
 * written files, its changes are recorded. Changes that are not in the log yet are recorded first. Then the log has
 * precedence over the folder on this machine, because the session may have run on another machine meanwhile.
 */
export class RunFiles implements Disposable {
  readonly #parts: Parts;
  /** Running calls that began before this seq were lost with their worker, and their changes are not recorded yet. */
  #lostBefore: number;
  /** The seq up to which the log had been read at the last scan of the worktree. */
  #seq = 0;
  /** The tree at which the log and the worktree last agreed. */
  #tree: BlobHash | undefined;
  #isPrepared = false;
  #bringing: Promise<void> | undefined;
  readonly #held: Disposable[] = [];
  #isOver = false;

  constructor(parts: Parts, { seq }: SessionFold) {
    this.#parts = parts;
    this.#lostBefore = seq;
    if (parts.lock) this.#held.push(parts.lock);
  }

  get place(): WorktreePlace {
    return this.#parts.place;
  }

  /** Releases the lock, so that others may work in a person's own folder. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const lock of this.#held.splice(0)) lock[Symbol.dispose]();
  }

  async #hold(): Promise<void> {
    if (this.#held.length > 0) return;
    this.#held.push(await lockPlace(this.place));
    if (this.#isOver) this[Symbol.dispose]();
  }

  /** Makes the worktree match the log. */
  async ready(): Promise<void> {
    this.#bringing ??= this.#bring().finally(() => {
      this.#bringing = undefined;
    });
    await this.#bringing;
  }

  async #bring(): Promise<void> {
    const { scope, writer } = this.#parts;
    await retryConflicts(scope, writer.key, async () =>
      (await this.#bringCloser()) ? { done: undefined } : filesMoved,
    );
  }

  /** Takes one step towards a worktree that matches the log. Returns true once it matches. */
  async #bringCloser(): Promise<boolean> {
    const { scope, writer } = this.#parts;
    const fold = await writer.fold();
    this.#seq = fold.seq;
    if (this.#tree === treeOf(fold)) {
      return this.#prepareIfAllowed(this.#tree);
    }
    await makePlace(this.place);
    if (this.place.isBound) {
      await this.#hold();
      await bindTo(scope, writer.key, this.place.folder);
    }
    const known = await readMark(this.place);
    const isEmpty = !known && (await this.#isEmpty());
    const mark = known ?? { ...newWorktree, trees: [this.place.isBound ? treeOf(fold) : emptyTree.hash] };
    this.#isPrepared = mark.isPrepared ?? false;
    const begun = isEmpty ? undefined : await this.#begunWith(fold, mark);
    if (begun) this.#tree = begun;
    else if (isEmpty && treeOf(fold) === emptyTree.hash) this.#beginEmpty();
    else await this.#reconcile(fold, mark);
    return begun !== undefined;
  }

  /**
   * Marks a new worktree. An empty worktree needs no `prepare`, because the run's own calls will create everything in
   * it.
   */
  #beginEmpty(): void {
    this.#tree = emptyTree.hash;
    this.#isPrepared = true;
  }

  async #isEmpty(): Promise<boolean> {
    return (await readdir(this.place.folder).catch(() => [])).length === 0;
  }

  /** The tree that a lost call started from. The files that the call wrote are recorded when the call is recovered. */
  async #begunWith(fold: SessionFold, mark: Mark): Promise<BlobHash | undefined> {
    const { tools } = this.#parts;
    const lost = Object.values(fold.runningCalls).find(
      ({ tool, seq }) => seq < this.#lostBefore && mayWrite(tools.get(tool)),
    );
    return lost && !mark.from ? this.#treeBefore(lost, fold, mark) : undefined;
  }

  /** The tree of this worktree when a call began. Undefined if the call ran on another machine. */
  async #treeBefore(
    { seq }: Pick<UntoldCall, 'seq'>,
    fold: SessionFold,
    { trees }: Mark,
  ): Promise<BlobHash | undefined> {
    const { scope, writer } = this.#parts;
    const then = await scope.folds.at(writer.key, seq);
    return [treeOf(then), treeOf(fold)].find((tree) => trees.includes(tree));
  }

  async #reconcile(fold: SessionFold, mark: Mark): Promise<void> {
    const wanted = treeOf(fold);
    const there = await this.#take(wanted);
    if (there.root === wanted) return this.#agree(wanted);
    const taken = await this.#finished(mark, wanted, there);
    const call = this.#untold(fold, mark);
    const base = await this.#baseOf(fold, mark, call);
    if (!base) {
      if (mark.trees[0] !== taken.root) await this.#setAside(taken);
      return this.#restore(there.root, wanted);
    }
    const cause = call ? { tool: call.tool, callId: call.callId } : mark.preparing;
    return this.#merge(wanted, base, there, { ...newFiles(taken), ...(cause && { cause }) });
  }

  /**
   * The common base of the worktree and the log. Undefined if the worktree's changes are obsolete, for example after a
   * rewind.
   */
  async #baseOf(fold: SessionFold, mark: Mark, call: UntoldCall | undefined): Promise<BlobHash | undefined> {
    const { trees, from } = mark;
    const isLeft = !this.place.isBound && (from || isRewoundSince(fold, mark));
    if (isLeft) return undefined;
    if (trees.includes(treeOf(fold))) return treeOf(fold);
    if (this.place.isBound || mark.preparing) return trees[0];
    return call && this.#treeBefore(call, fold, mark);
  }

  /**
   * The worktree as if the interrupted restore had finished. This tree differs from the restore's target only by later
   * changes.
   */
  async #finished({ from, trees }: Mark, wanted: BlobHash, there: SnapshotWithChanges): Promise<SnapshotWithChanges> {
    if (!from) return there;
    const joining = { base: from, ours: there.root, theirs: trees[0]!, on: wanted };
    try {
      const { tree: root, changes } = await joinFiles(this.#parts.scope, joining);
      return { ...there, root, changes };
    } catch (error) {
      // No event names the tree from before the restore, so garbage collection may have removed it.
      if (isPerdureError(error) && error.code === 'BLOB_NOT_FOUND') return there;
      throw error;
    }
  }

  /** The newest call that was ended by another process, so that its file changes were not scanned. */
  #untold({ untoldCalls }: SessionFold, mark: Mark): UntoldCall | undefined {
    const { tools } = this.#parts;
    return untoldCalls.findLast(({ tool, endedAt = 0 }) => endedAt > mark.seq && mayWrite(tools.get(tool)));
  }

  async #take(base: BlobHash): Promise<SnapshotWithChanges> {
    const { scope } = this.#parts;
    await makePlace(this.place);
    const { folder, cacheFile } = this.place;
    return scope.worktrees.snapshot(
      { folder, cacheFile, base, secrets: (await scope.secrets.redactor()).forms },
      scope.blobs,
    );
  }

  async #agree(tree: BlobHash): Promise<void> {
    await this.#mark(tree);
    this.#tree = tree;
  }

  #mark(...trees: readonly BlobHash[]): Promise<void> {
    return writeMark(this.place, { trees, seq: this.#seq, ...(this.#isPrepared && { isPrepared: true }) });
  }

  /** Whether `prepare` must run. It runs once after each restore, and never in a person's own folder. */
  #isToPrepare(tree: BlobHash): boolean {
    return this.#parts.prepare !== undefined && !this.#isPrepared && !this.place.isBound && tree !== emptyTree.hash;
  }

  /** The tree in which `prepare` has not run, because a person must approve it first. Call `ready` before. */
  get unpreparedTree(): BlobHash | undefined {
    return this.#tree !== undefined && this.#isToPrepare(this.#tree) ? this.#tree : undefined;
  }

  /** Returns true if nothing is left to do, also if the command must wait for a person. */
  async #prepareIfAllowed(tree: BlobHash): Promise<boolean> {
    const permission = this.#isToPrepare(tree) && (await this.#parts.prepare!.permission(tree));
    if (permission === 'granted') {
      await this.#prepare(tree);
      return false;
    }
    if (permission === 'refused') {
      await this.#parts.prepare!.skip(tree);
      this.#isPrepared = true;
      await this.#mark(tree);
    }
    return true;
  }

  async #prepare(tree: BlobHash): Promise<void> {
    const prepare = this.#parts.prepare!;
    const cause = prepare.newCause();
    await writeMark(this.place, { trees: [tree], seq: this.#seq, preparing: cause });
    await prepare.run(this.place, cause);
    this.#isPrepared = true;
    if (!(await this.#lookAndTell(cause))) await this.#mark(tree);
  }

  /** Scans the worktree and records the changes. Returns false if there are none. */
  async #lookAndTell(cause: Cause): Promise<boolean> {
    const look = await this.look(cause);
    if (!look) return false;
    await this.landing(look, (found) => this.#tell(found));
    return true;
  }

  /**
   * Records the changes of a lost call before it runs again. The next `ready` then also merges changes from elsewhere.
   */
  async recover(cause: Cause): Promise<void> {
    await this.#lookAndTell(cause);
    this.#lostBefore = 0;
  }

  /** Restores the tree `root`. `from` must be the tree of the newest scan. */
  async #restore(from: BlobHash, root: BlobHash): Promise<void> {
    const { scope } = this.#parts;
    const { folder, cacheFile, aside } = this.place;
    this.#isPrepared = false;
    await writeMark(this.place, { trees: [root], seq: this.#seq, from });
    const options = { folder, cacheFile, base: from, root, aside, secrets: (await scope.secrets.redactor()).forms };
    const { inTheWay, movedTo } = await scope.worktrees.restore(options, scope.blobs);
    if (movedTo) scope.onWarning(moved(inTheWay, movedTo));
    await this.#agree(root);
  }

  /** Records outside changes as conflicts before the session's own files overwrite them. */
  async #setAside({ root, changes }: SnapshotWithChanges): Promise<void> {
    const { writer, run } = this.#parts;
    const payload = conflicted(
      root,
      changes.map(({ path }) => path),
    );
    if (payload) {
      await writer.record({ type: 'files.conflicted', payload, actor: outsideActor, turn: 'current', run });
    }
  }

  /** Merges the changes in the worktree with the changes that were written or restored elsewhere. */
  async #merge(wanted: BlobHash, base: BlobHash, there: SnapshotWithChanges, files: NewFiles): Promise<void> {
    const found = await this.#onto(wanted, { base, files });
    const hasNews = found.files.tree !== wanted || found.conflicts;
    if (hasNews && !(await this.#tell(found))) return;
    if (found.files.tree === there.root) await this.#agree(there.root);
    else await this.#restore(there.root, found.files.tree);
  }

  async #onto(on: BlobHash, { base, files }: Look): Promise<FoundFiles> {
    if (on === base) return { on, files };
    const joining = { base, ours: files.tree, theirs: on, on };
    const { conflicts, ...joined } = await joinFiles(this.#parts.scope, joining);
    return { on, files: { ...files, ...joined }, conflicts };
  }

  /** Records the files. Returns false if the session's files changed meanwhile. */
  async #tell(found: FoundFiles): Promise<boolean> {
    const { writer, run, scope } = this.#parts;
    const { cause } = found.files;
    const actor = cause ? (`tool:${cause.tool}` as Actor) : outsideActor;
    const redactor = await scope.secrets.redactor();
    let isOn = false;
    await writer.decide((fold) => {
      isOn = treeOf(fold) === found.on;
      if (!isOn) return undefined;
      const drafts = decideFiles(fold, { type: 'files', ...found, agents: scope.agents }, actor, redactor);
      return drafts.map((draft) => ({ ...draft, run }));
    });
    return isOn;
  }

  /**
   * Merges the changes of another session that worked on a copy of these files. The worktree is updated before the
   * next call.
   */
  async takeOver(base: BlobHash, theirs: BlobHash, cause: Cause): Promise<void> {
    const { writer, scope } = this.#parts;
    if (theirs === base) return;
    await retryConflicts(scope, writer.key, async () => {
      const fold = await writer.fold();
      const on = treeOf(fold);
      const { conflicts, ...joined } = await joinFiles(scope, { base, ours: on, theirs, on });
      const hasNews = joined.tree !== on || conflicts;
      const files = { ...joined, leftOut: fold.files?.leftOut ?? {}, cause };
      return !hasNews || (await this.#tell({ on, files, conflicts })) ? { done: undefined } : filesMoved;
    });
  }

  /** Scans the worktree after a call that may have written. Returns undefined if nothing changed. */
  async look(cause: Cause): Promise<Look | undefined> {
    const base = this.#tree ?? emptyTree.hash;
    if (base === emptyTree.hash && !this.place.isBound && (await this.#isEmpty())) return undefined;
    const { files: before } = await this.#parts.writer.fold();
    const taken = await this.#take(base);
    const files: NewFiles = { ...newFiles(taken), cause };
    if (taken.root === base && isDeepStrictEqual(files.leftOut, before?.leftOut ?? {})) return undefined;
    await this.#mark(base, taken.root);
    return { base, files };
  }

  /**
   * Records a scan, merged with changes that were written elsewhere meanwhile. `record` returns false if the session's
   * files changed again.
   */
  async landing(look: Look, record: (found: FoundFiles) => Promise<boolean>): Promise<void> {
    const { scope, writer } = this.#parts;
    const found = await retryConflicts(scope, writer.key, async () => {
      const joined = await this.#onto(treeOf(await writer.fold()), look);
      return (await record(joined)) ? { done: joined } : filesMoved;
    });
    await this.#told(look, found);
  }

  /**
   * Called once the files are in the log. If they were merged with other changes, the worktree is updated before the
   * next call.
   */
  async #told({ files: { tree: here } }: Look, { files: { tree } }: FoundFiles): Promise<void> {
    await this.#mark(here);
    this.#tree = here === tree ? here : undefined;
  }
}
