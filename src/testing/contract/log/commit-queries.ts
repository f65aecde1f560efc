import { describe, expect, test } from 'vitest';
import type { CommitQuery, SessionKey, Store } from '../../../core/ports/store.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { committed } from '../records/record-events.ts';
import { commitsOf, within } from '../records/record-pages.ts';
import { message, rawText } from './new-events.ts';
import { forkSession, mustAppend, openSession, readAll, seqs } from './session-log.ts';

type CommitFilter = Omit<CommitQuery, 'limit' | 'before'>;

/** A session with these commits, from seq 2 on. The time of each commit is its seq. */
const withCommits = async (
  store: Store,
  commits: readonly Parameters<typeof committed>[],
  key: SessionKey = newKey(),
): Promise<SessionKey> => {
  await openSession(store, key, { at: 1 });
  for (const [index, commit] of commits.entries()) {
    await mustAppend(store, key, [committed(...commit)], { at: index + 2 });
  }
  return key;
};

/** Runs the same query on the workspace and on its only session, and expects the same commits from both. */
const expectFound = async (
  store: Store,
  key: SessionKey,
  asked: CommitFilter,
  expected: readonly number[],
): Promise<void> => {
  expect(seqs(await commitsOf(store, key.workspace, asked))).toEqual(expected);
  expect(seqs(await commitsOf(store, key.workspace, { ...asked, ...within(key, [1, 1_000]) }))).toEqual(expected);
};

export const describeCommitQueries = (setup: ContractSetup) =>
  describe('findCommits', () => {
    test('[QRY1] commits are found by path prefix, each once and in the same form as a read', async () => {
      const { store } = setup;
      const key = await withCommits(store, [
        [['/facts/port', '/facts/portal', '/facts/host']],
        [['/filesModified/src~1auth.ts']],
        [['/facts/%', '/plan/a/status']],
        [['/facts/\u{10ffff}x', '/facts/é']],
        [['']],
      ]);
      const asked: readonly [string, readonly number[]][] = [
        ['/facts/port', [2]],
        ['/facts/portal', [2]],
        ['/facts/', [5, 4, 2]],
        ['/fact', [5, 4, 2]],
        ['/facts/%', [4]],
        ['/facts/_', []],
        ['/facts/\u{10ffff}', [5]],
        ['/facts/é', [5]],
        ['/facts/e', []],
        ['/FACTS', []],
        ['/plan/a', [4]],
        ['/filesModified/src~1auth.ts', [3]],
        ['/', [5, 4, 3, 2]],
        ['', [6, 5, 4, 3, 2]],
      ];
      for (const [prefix, expected] of asked) await expectFound(store, key, { prefix }, expected);
      await expectFound(store, key, {}, [6, 5, 4, 3, 2]);
      const events = await readAll(store, key);
      expect(await commitsOf(store, key.workspace)).toEqual(events.slice(1).toReversed());
    });

    test('[QRY1, BLOB1] paths and payloads of any length are found and read back', async () => {
      const { store } = setup;
      const deep = `/facts/${'é'.repeat(1_900)}`;
      const astral = `/facts/a${'\u{1f600}'.repeat(900)}`;
      const key = await withCommits(store, [
        [[deep, `${deep}/a`]],
        [[astral]],
        [['/facts/long'], { value: 'x'.repeat(40_000) }],
      ]);
      const found: readonly [string, readonly number[]][] = [
        [deep, [2]],
        [deep.slice(0, 500), [2]],
        [astral, [3]],
        [astral.slice(0, 8), [3]],
        ['/facts/long', [4]],
      ];
      for (const [prefix, expected] of found) await expectFound(store, key, { prefix }, expected);
      const events = await readAll(store, key);
      expect(await commitsOf(store, key.workspace, { prefix: '/facts/long' })).toEqual([events[3]]);
    });

    test('[QRY1, QRY6] commits are found by tool, actor, provenance and time, separately and combined', async () => {
      const { store } = setup;
      const key = await withCommits(store, [
        [['/facts/a'], { tool: 'edit', provenance: 'verified' }],
        [['/facts/b'], { actor: 'member:ann', provenance: 'human' }],
        [['/facts/c'], { tool: 'bash', actor: 'agent:coder', provenance: 'unverified' }],
        [['/facts/a'], { tool: 'edit', actor: 'agent:coder', provenance: 'imported' }],
      ]);
      const asked: readonly [CommitFilter, readonly number[]][] = [
        [{ tool: 'edit' }, [5, 2]],
        [{ tool: 'none' }, []],
        [{ actor: 'system' }, [2]],
        [{ actor: 'agent:coder' }, [5, 4]],
        [{ provenance: ['human'] }, [3]],
        [{ provenance: ['imported', 'verified'] }, [5, 2]],
        [{ provenance: [] }, []],
        [{ since: 3 }, [5, 4, 3]],
        [{ until: 3 }, [3, 2]],
        [{ since: 3, until: 4 }, [4, 3]],
        [{ since: 4, until: 3 }, []],
        [{ prefix: '/facts/a', tool: 'edit', actor: 'agent:coder', provenance: ['imported'], since: 5, until: 5 }, [5]],
        [{ prefix: '/facts/a', tool: 'edit', actor: 'agent:coder', provenance: ['verified'] }, []],
      ];
      for (const [query, expected] of asked) await expectFound(store, key, query, expected);
    });

    test('[QRY1] only commits in the given ranges are found, for any number of ranges', async () => {
      const { store } = setup;
      const commits = Array.from({ length: 9 }, (_, i): [readonly string[]] => [[`/facts/${i % 2}`]]);
      const key = await withCommits(store, commits);
      const inRanges = async (asked: CommitFilter, ...ranges: readonly (readonly [number, number])[]) =>
        seqs(await commitsOf(store, key.workspace, { ...asked, ...within(key, ...ranges) }));
      expect(await inRanges({}, [4, 6])).toEqual([6, 5, 4]);
      expect(await inRanges({}, [1, 2], [5, 5], [9, 99])).toEqual([10, 9, 5, 2]);
      expect(await inRanges({ prefix: '/facts/0' }, [1, 2], [5, 9])).toEqual([8, 6, 2]);
      expect(await inRanges({}, [1, 1])).toEqual([]);
      expect(await inRanges({})).toEqual([]);
      expect(await commitsOf(store, key.workspace, within(newKey(key.workspace), [1, 9]))).toEqual([]);
    });

    test('[QRY1] commits of a workspace are returned newest first; among equal times, by higher session id, then by higher seq', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [a, b] = [newKey(workspace), newKey(workspace)];
      for (const key of [a, b]) await openSession(store, key);
      for (const [key, at] of [
        [a, 5_000],
        [b, 2_000],
        [b, 5_000],
        [a, 5_000],
        [b, 3_000],
        [a, 9_000],
      ] as const) {
        await mustAppend(store, key, [committed(['/facts/x', '/facts/y']), rawText('')], { at });
      }
      const order = [
        [a, 6],
        [b, 6],
        [b, 4],
        [a, 4],
        [a, 2],
        [b, 2],
      ] as const;
      for (const asked of [{}, { prefix: '/facts/x' }, { prefix: '/facts' }, { prefix: '/facts/x', until: 9_000 }]) {
        const found = await commitsOf(store, workspace, asked);
        expect(found.map(({ session, seq }) => [session, seq])).toEqual(order.map(([key, seq]) => [key.session, seq]));
      }
    });

    test('[QRY2] a fork sees inherited commits up to its fork point and none after, at any depth', async () => {
      const { store } = setup;
      const commits = Array.from({ length: 4 }, (_, i): [readonly string[]] => [[`/facts/root${i}`]]);
      const root = await withCommits(store, commits);
      const [child, grandchild, early] = [newKey(root.workspace), newKey(root.workspace), newKey(root.workspace)];
      await forkSession(store, root, 3, child, { at: 10 });
      await mustAppend(store, child, [committed(['/facts/child']), committed(['/facts/child'])], { at: 11 });
      await forkSession(store, child, 5, grandchild, { at: 12 });
      await forkSession(store, child, 2, early, { at: 13 });
      await mustAppend(store, root, [committed(['/facts/root late'])], { at: 14 });
      await mustAppend(store, early, [committed(['/facts/early'])], { at: 15 });
      const seen = async (key: SessionKey, asked: CommitFilter = {}) => {
        const found = await commitsOf(store, key.workspace, { ...asked, ...within(key, [1, 1_000]) });
        return found.map(({ session, seq }) => [session, seq]);
      };
      const [r, c] = [root.session, child.session];
      expect(await seen(child)).toEqual([
        [c, 6],
        [c, 5],
        [r, 3],
        [r, 2],
      ]);
      expect(await seen(grandchild)).toEqual([
        [c, 5],
        [r, 3],
        [r, 2],
      ]);
      expect(await seen(early)).toEqual([
        [early.session, 4],
        [r, 2],
      ]);
      expect(await seen(root)).toEqual([
        [r, 6],
        [r, 5],
        [r, 4],
        [r, 3],
        [r, 2],
      ]);
      expect(await seen(grandchild, { prefix: '/facts/root' })).toEqual([
        [r, 3],
        [r, 2],
      ]);
      expect(await seen(grandchild, { until: 2 })).toEqual([[r, 2]]);
      expect(seqs(await commitsOf(store, root.workspace, within(grandchild, [3, 5])))).toEqual([5, 3]);
      expect(await commitsOf(store, root.workspace)).toHaveLength(8);
    });

    test('[QRY2] inherited commits are returned in the order of the sequence, whatever the ids and times are', async () => {
      const { store } = setup;
      const [low, high] = [newKey(), newKey()];
      const parent = { ...high, workspace: low.workspace };
      await openSession(store, parent);
      await mustAppend(store, parent, [committed(['/facts/a']), message('b', 'next'), committed(['/facts/c'])]);
      await forkSession(store, parent, 4, low);
      await mustAppend(store, low, [committed(['/facts/d']), committed(['/facts/e'])]);
      expect(seqs(await commitsOf(store, low.workspace, within(low, [1, 99])))).toEqual([7, 6, 4, 2]);
    });
  });
