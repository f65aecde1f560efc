import { describe, expect, test } from 'vitest';
import type { SessionCopy, SessionKey, Store, StoredEvent } from '../../../core/ports/store.ts';
import { eventHash, genesisHash, payloadDigest } from '../../../core/session/events/chain.ts';
import { newId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { message, noise, opened, raw, rawText } from '../log/new-events.ts';
import { expectSound, forkSession, mustAppend, openSession } from '../log/session-log.ts';
import { copiesOf, sendCopies } from './session-copies.ts';

const parentAndChild = async (store: Store): Promise<readonly [SessionKey, SessionKey]> => {
  const root = newKey();
  await mustAppend(store, root, [opened(), message('a', 'next'), rawText('b'), raw(noise(20_000, 1))], { creates: {} });
  await mustAppend(store, root, [message('c', 'next')], { at: 2_000 });
  const child = newKey(root.workspace);
  await forkSession(store, root, 3, child, { about: { lastTurn: 1, messages: 1 } });
  await mustAppend(store, child, [message('d', 'next')]);
  return [root, child];
};

/** The copy with one event changed; `index` starts at 0. */
const changed = (
  copy: SessionCopy,
  index: number,
  change: (event: StoredEvent) => Partial<StoredEvent>,
): SessionCopy => ({
  ...copy,
  events: copy.events.map((event, i) => (i === index ? { ...event, ...change(event) } : event)),
});

const without = (copy: SessionCopy, index: number): SessionCopy => ({
  ...copy,
  events: copy.events.toSpliced(index, 1),
});

/** Recomputes the hashes, like a forger who knows the format, to test what no hash protects. */
const rechained = (copy: SessionCopy): SessionCopy => {
  let previous = genesisHash;
  const events = copy.events.map((event) => {
    const digest = event.body.kind === 'bytes' ? payloadDigest(event.body.salt, event.body.bytes) : new Uint8Array(32);
    previous = eventHash(previous, event, digest);
    return { ...event, hash: previous };
  });
  return { ...copy, events };
};

const bytesBody = (text: string): Pick<StoredEvent, 'body'> => ({
  body: { kind: 'bytes', salt: new Uint8Array(16), bytes: new TextEncoder().encode(text) },
});

const forkOf = (parent: SessionCopy['session'], at: number): string =>
  JSON.stringify({ parent, at, midTurn: false, lastTurn: 0, messages: 0 });

type Damage = (root: SessionCopy, child: SessionCopy) => readonly SessionCopy[];
const damages: Record<string, Damage> = {
  'a changed payload': (root, child) => [changed(root, 2, () => bytesBody('x')), child],
  'a changed large payload': (root, child) => [
    changed(root, 3, ({ body }) => ({ body: { ...body, bytes: noise(20_000, 2) } as StoredEvent['body'] })),
    child,
  ],
  'a changed salt': (root) => [
    changed(root, 2, ({ body }) => ({ body: { ...body, salt: new Uint8Array(16) } as StoredEvent['body'] })),
  ],
  'an unreadable payload': (root) => [changed(root, 2, () => ({ body: { kind: 'damaged', reason: 'gone' } }))],
  'a redaction with another digest': (root) => [
    changed(root, 2, () => ({ body: { kind: 'redacted', digest: new Uint8Array(32) } })),
  ],
  'a changed time': (root) => [changed(root, 4, () => ({ at: 5_000 }))],
  'a changed turn': (root) => [changed(root, 4, () => ({ turn: 9 }))],
  'a changed actor': (root) => [changed(root, 4, () => ({ actor: 'member:eve' as StoredEvent['actor'] }))],
  'a changed hash': (root) => [changed(root, 4, () => ({ hash: new Uint8Array(32) }))],
  'a missing event': (root) => [without(root, 2)],
  'a missing first event': (root) => [without(root, 0)],
  'events in the wrong order': (root) => [{ ...root, events: root.events.toReversed() }],
  'a gap between two pieces': (root) => [
    { ...root, events: root.events.slice(0, 2) },
    { ...root, events: root.events.slice(3) },
  ],
  'no events at all': (root) => [{ ...root, events: [] }],
  'an event of another session': (root) => [
    changed({ ...root, session: newId('ses') }, 0, ({ session }) => ({ session })),
  ],
  'a child without its parent': (_, child) => [child],
  'a child before its parent': (root, child) => [child, root],
  'a child with a wrong fork point': (root, child) => [root, { ...child, parent: { session: root.session, seq: 4 } }],
  'a child that claims to be a root': (root, { parent: _, ...child }) => [root, child],
  'a parent that is too short': (root, child) => [{ ...root, events: root.events.slice(0, 2) }, child],
  'a turn mark where no turn begins': (root) => [changed(root, 2, () => ({ opensTurn: true }))],
  'a missing turn mark': (root) => [changed(root, 4, () => ({ opensTurn: false }))],
  'a time that runs backwards': (root) => [rechained(changed(root, 4, () => ({ at: 1 })))],
  'an invalid session.opened payload': (root) => [rechained(changed(root, 0, () => bytesBody('{"title":7}')))],
  'a payload that does not fit its type': (root) => [rechained(changed(root, 4, () => bytesBody('{}')))],
  'a rewind to itself': (root) => [
    rechained(changed(root, 4, () => ({ type: 'session.rewound', ...bytesBody('{"to":5,"messages":0}') }))),
  ],
  'an illegal change of status': (root) => [
    rechained(changed(root, 4, () => ({ type: 'session.archived', ...bytesBody('{}') }))),
  ],
  'a second session.opened': (root) => [
    rechained(changed(root, 4, () => ({ type: 'session.opened', ...bytesBody('{}') }))),
  ],
  'a root whose first event is a fork': (root) => [
    rechained(changed(root, 0, () => ({ type: 'session.forked', ...bytesBody(forkOf(root.session, 3)) }))),
  ],
};

export const describeDamagedBundles = (setup: ContractSetup) =>
  describe('importCopies of damaged copies', () => {
    /** Everything visible of a workspace. */
    const stateOf = async (store: Store, keys: readonly SessionKey[]) => ({
      list: (await store.list(keys[0]!.workspace, { limit: 100 })).sessions,
      heads: await Promise.all(keys.map((key) => store.head(key))),
      events: await Promise.all(keys.map((key) => store.read(key, { limit: 100 }))),
      keys: await Promise.all(keys.map((key) => store.keys(key))),
      pieces: await setup.tamper.countPieces(keys[0]!.workspace),
    });

    for (const [what, damage] of Object.entries(damages)) {
      test(`[BUN3] ${what} rejects the whole import with BUNDLE_INVALID and changes nothing`, async () => {
        const { store } = setup;
        const keys = await parentAndChild(store);
        const [root, child] = (await copiesOf(store, keys)) as [SessionCopy, SessionCopy];
        const workspace = newWorkspace();
        const [good, bystander] = [newKey(), newKey(workspace)];
        await openSession(store, good);
        await openSession(store, bystander);
        const here = [bystander, good, ...keys].map(({ session }) => ({ workspace, session }));
        const before = await stateOf(store, here);
        const copies = [...(await copiesOf(store, [good])), ...damage(root, child)];
        const importing = store.importCopies(workspace, sendCopies(copies));
        await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
        expect(await stateOf(setup.other, here)).toEqual(before);
        await mustAppend(store, bystander, [rawText('goes on')]);
      });
    }

    test('[BUN3] if a copy is damaged in events that are already stored, its new events after them are rejected', async () => {
      const { store } = setup;
      const [key] = await parentAndChild(store);
      const [copy] = await copiesOf(store, [key]);
      const here = { ...key, workspace: newWorkspace() };
      await store.importCopies(here.workspace, sendCopies([{ ...copy!, events: copy!.events.slice(0, 4) }]));
      const importing = store.importCopies(here.workspace, sendCopies([changed(copy!, 2, () => bytesBody('x'))]));
      await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      expect(await expectSound(store, here)).toHaveLength(4);
    });

    test('[BUN3] if the source of the copies fails in the middle, nothing changes, and the error is reported', async () => {
      const { store } = setup;
      const keys = await parentAndChild(store);
      const copies = await copiesOf(store, keys);
      const workspace = newWorkspace();
      const here = keys.map(({ session }) => ({ workspace, session }));
      const before = await stateOf(store, here);
      const breaking = async function* () {
        yield copies[0]!;
        throw new Error('the file ends here');
      };
      await expect(store.importCopies(workspace, breaking())).rejects.toThrow('the file ends here');
      expect(await stateOf(setup.other, here)).toEqual(before);
      await store.importCopies(workspace, sendCopies(copies));
      for (const key of here) await expectSound(store, key);
    });

    test('[BUN3] a rejected import leaves no trace: the same ids can be created with another lineage', async () => {
      const { store } = setup;
      const keys = await parentAndChild(store);
      const grandchild = newKey(keys[0].workspace);
      await forkSession(store, keys[1], 5, grandchild);
      const copies = await copiesOf(store, [...keys, grandchild]);
      const workspace = newWorkspace();
      const damaged = changed(copies[2]!, 0, () => ({ at: 9_000 }));
      const refused = store.importCopies(workspace, sendCopies([...copies.slice(0, 2), damaged]));
      await expect(refused).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      const [formerRoot, formerChild] = keys.map(({ session }) => ({ workspace, session })) as [SessionKey, SessionKey];
      for (const writer of [store, setup.other]) expect(await writer.head(formerChild)).toBeUndefined();
      await openSession(store, formerChild);
      await mustAppend(store, formerChild, [rawText('1'), rawText('2'), rawText('3')]);
      await forkSession(store, formerChild, 2, formerRoot);
      for (const reader of [store, setup.other]) {
        expect(await expectSound(reader, formerChild)).toHaveLength(4);
        const owners = (await expectSound(reader, formerRoot)).map(({ session }) => session);
        expect(owners).toEqual([formerChild.session, formerChild.session, formerRoot.session]);
      }
    });

    test('[BUN3] a rejected import stops the iteration over the copies', async () => {
      const { store } = setup;
      const [key] = await parentAndChild(store);
      const [copy] = await copiesOf(store, [key]);
      let ended = false;
      const copies = async function* () {
        try {
          yield without(copy!, 1);
          yield copy!;
        } finally {
          ended = true;
        }
      };
      await expect(store.importCopies(newWorkspace(), copies())).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      expect(ended).toBe(true);
    });
  });
