import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { reachOf, readBlobEvents } from '../engine/blob-events.ts';
import type { FollowAccess } from '../engine/scope.ts';
import { blobsOf } from '../files/blobs-of.ts';
import { type BlobProblem, blobProblemOf, Reach } from '../files/reach.ts';
import { emptyTree } from '../files/tree.ts';
import type { BlobHash, LooseBlob } from '../ports/blobs.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import type { StoredEvent } from '../ports/store.ts';
import { type CollectAccess, collectWorktrees, type OldWorktree } from './gc-worktrees.ts';

/**
 * The default grace. It is longer than any writer needs between storing a blob and appending the event that names it.
 */
const defaultGraceMs = 24 * 3_600_000;
const pageBlobs = 1000;

const Options = z.strictObject({
  /** Reports what would be removed, and removes nothing. */
  dryRun: z.boolean().default(false),
  /**
   * Blobs that were stored or queried within this time are kept. It must be longer than any writer needs between that
   * use of a blob and the append of the event that names it.
   */
  graceMs: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).default(defaultGraceMs),
  /** Called repeatedly with the progress. */
  onProgress: z.custom<(progress: GcProgress) => void>((value) => typeof value === 'function').optional(),
});
export type GcOptions = z.input<typeof Options>;

/** Numbers of blobs found in logs, checked in the store, and removed. */
export type GcProgress = Readonly<Record<'named' | 'looked' | 'removed', number>>;

export interface BlobCount {
  readonly blobs: number;
  readonly bytes: number;
}

export interface Collected {
  /** Blobs that events name, directly or through trees. Payloads and fold snapshots are not included. */
  readonly named: number;
  /** Blobs that no event names, used within the grace. */
  readonly young: BlobCount;
  /** Blobs that no event names, not used within the grace. */
  readonly garbage: BlobCount;
  /** The garbage that was removed. Blobs that were used meanwhile are not included. */
  readonly removed: BlobCount;
  /** Worktrees of archived sessions on this machine. */
  readonly worktrees: readonly OldWorktree[];
}

interface Place extends FollowAccess, CollectAccess {
  readonly store: RuntimeStore;
}

const countOf = (blobs: readonly LooseBlob[]): BlobCount => ({
  blobs: blobs.length,
  bytes: blobs.reduce((sum, { size }) => sum + size, 0),
});

const incomplete = ({ session, seq }: StoredEvent, { path, blob, reason }: BlobProblem, cause?: unknown) =>
  new PerdureError(
    'STORE_CORRUPT',
    `event ${seq} of ${session} names a blob that cannot be read: ${reason}; nothing was removed, restore the store from a copy or import the session again from a bundle`,
    { details: { session, seq, path, blob }, cause },
  );

const refuseClosed = (closing: AbortSignal): void => {
  if (closing.aborted) throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed: collect again');
};

/** Visits every blob that the log names, session by session. `found` may return a reason to fail. */
const walk = async ({ store, workspace, closing }: Place, found: (hash: BlobHash) => string | undefined) => {
  const reach = new Reach(blobsOf(store, workspace));
  for await (const { event, named } of readBlobEvents(store, workspace)) {
    try {
      for await (const { hash, path } of reachOf(reach, named)) {
        refuseClosed(closing);
        const reason = found(hash);
        if (reason) throw incomplete(event, { path, blob: hash, reason });
      }
    } catch (error) {
      const problem = blobProblemOf(error);
      throw problem ? incomplete(event, problem, error) : error;
    }
  }
};

async function* looseBlobs({ store, workspace }: Place): AsyncGenerator<LooseBlob, void, void> {
  for (let after: BlobHash | undefined; ; ) {
    const page: readonly LooseBlob[] = await store.looseBlobs(workspace, { after, limit: pageBlobs });
    yield* page;
    after = page.at(-1)?.hash;
    if (after === undefined) return;
  }
}

function* inPages<T>(all: Iterable<T>): Generator<readonly T[]> {
  const rest = Iterator.from(all);
  for (let page = [...rest.take(pageBlobs)]; page.length > 0; page = [...rest.take(pageBlobs)]) yield page;
}

/**
 * Rejects a missing blob. A blob that an event names and that is not loose must also be named by a payload or a fold
 * snapshot. Otherwise it is missing.
 */
const refuseMissing = async (place: Place, notLoose: ReadonlySet<BlobHash>): Promise<void> => {
  const missing = new Set(notLoose);
  for (const page of inPages(notLoose)) {
    for (const hash of await place.store.hasBlobs(place.workspace, page)) missing.delete(hash);
  }
  if (missing.size === 0) return;
  await walk(place, (hash) => (missing.has(hash) ? `the blob ${hash} is not in the store` : undefined));
};

/**
 * Removes the blobs of a workspace that no event names, while other writers keep working. The cutoff for the last use
 * is fixed before the first event is read. So a later event names only blobs used after the cutoff, or blobs that an
 * earlier event names.
 */
export const collectGarbage = async (place: Place, options: GcOptions = {}): Promise<Collected> => {
  const { dryRun, graceMs, onProgress } = parseInput('the collection', Options, options);
  const { store, workspace } = place;
  const progress = { named: 0, looked: 0, removed: 0 };
  const count = (what: keyof GcProgress, by = 1): void => {
    progress[what] += by;
    onProgress?.({ ...progress });
  };
  const usedBefore = (await store.now()) - graceMs;
  const named = new Set<BlobHash>();
  await walk(place, (hash) => {
    if (!named.has(hash)) count('named');
    named.add(hash);
    return undefined;
  });
  const garbage: LooseBlob[] = [];
  const young = { blobs: 0, bytes: 0 };
  for await (const blob of looseBlobs(place)) {
    count('looked');
    if (named.delete(blob.hash) || blob.hash === emptyTree.hash) continue;
    if (blob.usedAt < usedBefore) {
      garbage.push(blob);
    } else {
      young.blobs += 1;
      young.bytes += blob.size;
    }
  }
  await refuseMissing(place, named);
  const removed: LooseBlob[] = [];
  for (const page of dryRun ? [] : inPages(garbage)) {
    refuseClosed(place.closing);
    const gone = new Set(
      await store.removeBlobs(
        workspace,
        page.map(({ hash }) => hash),
        usedBefore,
      ),
    );
    removed.push(...page.filter(({ hash }) => gone.has(hash)));
    count('removed', gone.size);
  }
  const worktrees = await collectWorktrees(place, dryRun);
  return { named: progress.named, young, garbage: countOf(garbage), removed: countOf(removed), worktrees };
};
