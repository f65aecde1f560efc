import { z } from 'zod';
import { isPerdureError } from '../../schema/error.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { reachOf } from '../engine/blob-events.ts';
import { readForward } from '../engine/read-log.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import { sessionNotFound, targetOf } from '../engine/session-folds.ts';
import { blobProblemOf, Reach, readAhead } from '../files/reach.ts';
import { eventLoop } from '../ports/event-loop.ts';
import { withOwnership } from '../ports/ownership.ts';
import type { Head, SessionKey, StoredEvent } from '../ports/store.ts';
import { blobNamedBy, type NamedBlob } from '../session/events/blob-events.ts';
import { genesisHash, linkProblem } from '../session/events/chain.ts';
import { isSameValue, valuesOf } from '../session/session-values.ts';
import { isSameJson } from '../session/state/patch-between.ts';
import { foldSummary, type SummaryFold, turnMark } from '../session/summary-fold.ts';
import { type BadEvent, foldProblem, legible } from './verify-folds.ts';

export type Verification =
  | { readonly ok: true; readonly events: number; readonly hash: string }
  | { readonly ok: false; readonly events: number; readonly bad: BadEvent };

/** How far a verification is: how many of the events it has read, folded, or checked the files of. */
export interface VerifyProgress {
  readonly phase: 'log' | 'state' | 'files';
  readonly done: number;
  readonly total: number;
}

const VerifyOptions = z.strictObject({
  /** Reads only trees, not the content of files. */
  quick: z.boolean().optional(),
  /** Stops the verification, which then fails with the reason of the signal. */
  signal: z.instanceof(AbortSignal).optional(),
  /** Called again and again while the verification goes on. */
  onProgress: z.custom<(progress: VerifyProgress) => void>((value) => typeof value === 'function').optional(),
});
export type VerifyOptions = z.input<typeof VerifyOptions>;

/** Reports every so many events, because a report for each would take longer than the check. */
const reportEvery = 100;

const reporter =
  ({ onProgress }: VerifyOptions, phase: VerifyProgress['phase'], total: number) =>
  (done: number): void => {
    if (done % reportEvery === 0 || done === total) onProgress?.({ phase, done, total });
  };

const mended = '`perdure repair --projections` rebuilds it from the log';

/** Follows the log as it is read, and recomputes what is stored beside it. */
export class Walk {
  #last: { readonly seq: number; readonly hash: Uint8Array } | StoredEvent = { seq: 0, hash: genesisHash };
  #root: string | undefined;
  #summary: SummaryFold;
  /** Whether the session that the last event belongs to has imported events. */
  #isImported = false;
  /** The seqs that rewinds and quarantines go back to. */
  readonly points = new Set<number>();
  /** The blobs that events name, with the seqs of the events. */
  readonly named: { readonly seq: number; readonly named: NamedBlob }[] = [];

  #isOfLast({ session }: StoredEvent): boolean {
    return 'session' in this.#last && this.#last.session === session;
  }

  #summaryBefore(event: StoredEvent): SummaryFold {
    return this.#isOfLast(event) ? this.#summary : undefined;
  }

  /** Returns how the next event's mark of a turn start is wrong, or undefined if it is right. */
  markProblem(event: StoredEvent): string | undefined {
    const isRight = event.opensTurn === turnMark(this.#summaryBefore(event), event);
    return isRight ? undefined : `its mark of a turn start is wrong: ${mended}`;
  }

  /** Returns why the next event differs from what was written, or undefined if it does not. */
  linkProblem(event: StoredEvent): string | undefined {
    return linkProblem(this.#last, event);
  }

  add(key: SessionKey, event: StoredEvent): void {
    const before = this.#summaryBefore(event);
    const known = legible(key.workspace, event);
    const target = known && targetOf(known);
    if (target !== undefined) this.points.add(target);
    const named = known && blobNamedBy(known);
    if (named) this.named.push({ seq: event.seq, named });
    this.#root ??= event.session;
    this.#isImported = event.imported === true || (this.#isImported && this.#isOfLast(event));
    this.#summary = foldSummary(before, event);
    this.#last = event;
  }

  /** Returns why the session row does not confirm the last event, or undefined if it does. */
  endProblem({ hash }: Head): string | undefined {
    return Buffer.from(this.#last.hash).equals(hash)
      ? undefined
      : 'the hash in the session row is not that of the head';
  }

  /** Returns how the row of the session differs from its log, or undefined if it does not. */
  headProblem(head: Head): string | undefined {
    const { at, root, parent, summary, isListed } = head;
    const problem = this.endProblem(head);
    if (problem) return problem;
    if ('at' in this.#last && this.#last.at !== at)
      return `the time in the session row is not that of the head: ${mended}`;
    if (root !== this.#root) return 'the session row names the wrong root of its family';
    if (!this.#summary || this.#summary === 'unreadable') return undefined;
    const isParent = parent?.session === this.#summary.parent && parent?.seq === this.#summary.forkedAt;
    if (!isParent) return 'the session row names another parent than the log';
    // The log of an imported session names members of another store, so only the row says who owns the session here.
    const expected = this.#isImported ? withOwnership(this.#summary, summary) : this.#summary;
    if (!isSameJson(summary, expected)) return `the summary in the session row differs from the log: ${mended}`;
    return isListed ? undefined : `the listing of the session differs from its summary: ${mended}`;
  }
}

/** Whether there is an event beyond the head. No append can cause this. */
const hasHiddenTail = async ({ store }: LogAccess, key: SessionKey, { seq }: Head): Promise<boolean> => {
  const [beyond] = await store.read(key, { after: seq, limit: 1 });
  return beyond !== undefined && ((await store.head(key))?.seq ?? 0) < beyond.seq;
};

/**
 * Returns the problem of an idempotency key. A key must refer to the session's own events: none inherited, and none
 * beyond the head. The head is read again, because it may have moved.
 */
const keyProblem = async ({ store }: LogAccess, key: SessionKey, { parent }: Head): Promise<string | undefined> => {
  const keys = await store.keys(key);
  const end = (await store.head(key))?.seq ?? 0;
  const wrong = keys.find(({ seq, count }) => seq <= (parent?.seq ?? 0) || count < 1 || seq + count - 1 > end);
  return wrong && `the key ${wrong.key} refers to events that the session does not have`;
};

/** Returns how the values by which listings find the session differ from its summary, unless the session moved on. */
const valuesProblem = async ({ store }: LogAccess, key: SessionKey, head: Head): Promise<string | undefined> => {
  const stored = await store.values(key);
  const expected = valuesOf(head.summary);
  const isSame =
    stored.length === expected.length && expected.every((each) => stored.some((value) => isSameValue(value, each)));
  if (isSame || (await store.head(key))?.seq !== head.seq) return undefined;
  return `the values by which listings find the session differ from its summary: ${mended}`;
};

/** Checks the files that events name. Reads each tree and each content once. */
export const filesProblem = async (
  { blobs }: FilesAccess,
  { named: events }: Walk,
  options: VerifyOptions,
): Promise<BadEvent | undefined> => {
  const reach = new Reach(blobs);
  const report = reporter(options, 'files', events.length);
  for (const [at, { seq, named }] of events.entries()) {
    report(at);
    try {
      const reached = reachOf(reach, named);
      for await (const _ of options.quick ? reached : readAhead(blobs, reached)) await eventLoop.slice();
    } catch (error) {
      const problem = blobProblemOf(error);
      if (!problem) throw error;
      return { seq, ...problem };
    }
  }
  return undefined;
};

const firstBad = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  head: Head,
  options: VerifyOptions,
): Promise<BadEvent | undefined> => {
  const walk = new Walk();
  const report = reporter(options, 'log', head.seq);
  for await (const event of readForward(scope.store, key, { after: 0, upTo: head.seq })) {
    const reason = walk.linkProblem(event) ?? walk.markProblem(event);
    if (reason) return { seq: event.seq, reason };
    walk.add(key, event);
    report(event.seq);
  }
  if (await hasHiddenTail(scope, key, head)) {
    return { seq: head.seq + 1, reason: `it is beyond the head in the session row: ${mended}` };
  }
  const reason =
    walk.headProblem(head) ?? (await valuesProblem(scope, key, head)) ?? (await keyProblem(scope, key, head));
  if (reason) return { seq: head.seq, reason };
  return (
    (await foldProblem(scope.store, key, {
      upTo: head.seq,
      points: walk.points,
      onFolded: reporter(options, 'state', head.seq),
    })) ?? (await filesProblem(scope, walk, options))
  );
};

/** Converts the error of a damaged event. Rethrows other errors. */
export const badEventOf = (error: unknown): BadEvent => {
  if (!isPerdureError(error, 'EVENT_DAMAGED')) throw error;
  return { seq: Number(error.details.seq), reason: String(error.details.reason) };
};

/**
 * Walks the log from the first event to the head, including inherited events. Reports the first event that differs
 * from what was written. Also checks the data stored beside the log, and every blob that an event names.
 */
export const verifySession = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  options: VerifyOptions = {},
): Promise<Verification> => {
  const asked = parseInput('the verification', VerifyOptions, options);
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  const { signal } = asked;
  const walk = () => firstBad(scope, key, head, asked).catch(badEventOf);
  const bad = await eventLoop.during({ ...(signal && { signal }) }, walk);
  if (bad) {
    const { seq, reason, path, blob } = bad;
    return { ok: false, events: seq - 1, bad: { seq, reason, ...(blob !== undefined && { path, blob }) } };
  }
  return { ok: true, events: head.seq, hash: Buffer.from(head.hash).toString('hex') };
};
