import { describe, expect, test } from 'vitest';
import type { BlobEventQuery, NewEvent, SessionKey, StoredEvent } from '../../../core/ports/store.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { event, message } from '../log/new-events.ts';
import { forkSession, mustAppend, openSession, payloadOf, readAll } from '../log/session-log.ts';
import { hashOf } from '../records/record-events.ts';

const snapshotted = (name: string): NewEvent =>
  event('files.snapshotted', {
    tree: hashOf(name),
    changed: { created: 1, modified: 0, deleted: 0, renamed: 0 },
    leftOut: {},
  });
const conflicted = (name: string, paths: readonly string[] = ['a']): NewEvent =>
  event('files.conflicted', { tree: hashOf(name), paths: [...paths], conflicts: paths.length });
const kept = (name: string): NewEvent =>
  event('artifact.kept', { name, mediaType: 'text/plain', size: 1, blob: hashOf(name) });

const placesOf = (events: readonly StoredEvent[]) => events.map(({ session, seq }) => ({ session, seq }));

export const describeBlobEvents = (setup: ContractSetup) =>
  describe('findBlobEvents', () => {
    const allOf = async (workspace: SessionKey['workspace'], query: Omit<BlobEventQuery, 'after'>) => {
      const events: StoredEvent[] = [];
      for (;;) {
        const page = await setup.store.findBlobEvents(workspace, { ...query, after: events.at(-1) });
        if (page.length === 0) return events;
        events.push(...page);
      }
    };

    /** A session, a fork of it, and an unrelated one, each with some events that name blobs and some that do not. */
    const family = async () => {
      const { store } = setup;
      const root = newKey();
      const [child, beside] = [newKey(root.workspace), newKey(root.workspace)];
      for (const key of [root, beside]) await openSession(store, key);
      await mustAppend(store, root, [message('a', 'next'), snapshotted('one'), message('b'), kept('two')]);
      await forkSession(store, root, 4, child, { about: { lastTurn: 1, messages: 2 } });
      const wide = Array.from({ length: 3000 }, (_, at) => `folder/${at}`);
      await mustAppend(store, child, [conflicted('three', wide), message('c')]);
      await mustAppend(store, root, [snapshotted('four')]);
      await mustAppend(store, beside, [message('d', 'next'), kept('five')]);
      const own = async (key: SessionKey) =>
        (await readAll(store, key)).filter(
          ({ session, type }) => session === key.session && /^files|^artifact/.test(type),
        );
      const inOrder = [root, child, beside].sort((a, b) => (a.session < b.session ? -1 : 1));
      return { root, child, all: (await Promise.all(inOrder.map(own))).flat() };
    };

    test('[GC1] findBlobEvents returns every event that names a blob exactly once, in the same form as a read, for any page size', async () => {
      const { root, all } = await family();
      expect(all).toHaveLength(5);
      for (const limit of [1, 2, 100]) {
        const found = await allOf(root.workspace, { limit });
        expect(placesOf(found)).toEqual(placesOf(all));
        expect(found).toEqual(all);
      }
      expect(all.some((each) => payloadOf(each).length > 16 * 1024)).toBe(true);
    });

    test('[GC1] findBlobEvents of one session returns its own events, not inherited ones', async () => {
      const { root, child, all } = await family();
      for (const { workspace, session } of [root, child]) {
        const own = all.filter((each) => each.session === session);
        expect(await allOf(workspace, { session, limit: 1 })).toEqual(own);
      }
      expect(await allOf(root.workspace, { session: newKey().session, limit: 9 })).toEqual([]);
    });

    test('[GC1] findBlobEvents includes imported and redacted events', async () => {
      const { store, tamper } = setup;
      const { root, child } = await family();
      const workspace = newWorkspace();
      await store.importCopies(workspace, sendCopies(await copiesOf(store, [root, child])));
      await tamper.redact({ ...root, workspace }, 3);
      const found = await allOf(workspace, { session: root.session, limit: 9 });
      expect(found.map(({ seq, body }) => [seq, body.kind])).toEqual([
        [3, 'redacted'],
        [5, 'bytes'],
        [6, 'bytes'],
      ]);
    });
  });
