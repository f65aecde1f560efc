import { describe, expect, test } from 'vitest';
import { eventHash, genesisHash, payloadDigest } from '../../../core/session/events/chain.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { message, noise, raw, rawText } from './new-events.ts';
import {
  asImported,
  expectSound,
  firstBad,
  forkSession,
  mustAppend,
  mustHead,
  openSession,
  readAll,
} from './session-log.ts';

export const describeHashes = (setup: ContractSetup) =>
  describe('hashes', () => {
    const fiveEvents = async (key = newKey()) => {
      await openSession(setup.store, key);
      await mustAppend(setup.store, key, [message('a', 'next'), rawText('b'), raw(noise(20_000, 1)), rawText('d')]);
      return key;
    };

    test('[HASH1] recomputing the chain from the events of a read yields the stored hashes, starting from 32 zero bytes', async () => {
      const { store } = setup;
      const key = await fiveEvents();
      let previous = genesisHash;
      for (const event of await readAll(store, key)) {
        if (event.body.kind !== 'bytes') throw new Error('expected bytes');
        expect(event.body.salt).toHaveLength(16);
        const expected = eventHash(previous, event, payloadDigest(event.body.salt, event.body.bytes));
        expect(Buffer.from(event.hash).toString('hex')).toBe(expected.toString('hex'));
        previous = event.hash;
      }
      expect(Buffer.from((await mustHead(store, key)).hash).equals(previous)).toBe(true);
    });

    test('[HASH1] every event has its own salt', async () => {
      const key = newKey();
      await openSession(setup.store, key);
      const { other } = setup;
      for (let i = 0; i < 10; i++) await mustAppend(i % 2 ? other : setup.store, key, [rawText('x'), rawText('x')]);
      const salts = (await readAll(setup.store, key)).map(({ body }) =>
        body.kind === 'bytes' ? Buffer.from(body.salt).toString('hex') : '',
      );
      expect(new Set(salts).size).toBe(21);
    });

    test('[HASH5] the chain of a fork continues from the event at its fork point', async () => {
      const { store } = setup;
      const parent = await fiveEvents();
      const child = newKey(parent.workspace);
      const { events } = await forkSession(store, parent, 3, child);
      const [third] = await store.read(parent, { after: 2, limit: 1 });
      const [first] = events;
      if (first?.body.kind !== 'bytes') throw new Error('expected bytes');
      const digest = payloadDigest(first.body.salt, first.body.bytes);
      expect(Buffer.from(first.hash).equals(eventHash(third!.hash, first, digest))).toBe(true);
      await expectSound(store, child);
    });

    test('[HASH2] a log that moves to another workspace keeps its hashes', async () => {
      const { store } = setup;
      const key = await fiveEvents();
      const workspace = newWorkspace();
      await store.importCopies(workspace, sendCopies(await copiesOf(store, [key])));
      const moved = await expectSound(store, { ...key, workspace });
      expect(moved).toEqual(asImported(await readAll(store, key)));
    });

    test('[HASH3] a redacted payload leaves the chain verifiable, and its bytes are gone', async () => {
      const key = await fiveEvents();
      await setup.tamper.redact(key, 3);
      await setup.tamper.redact(key, 4);
      const store = setup.other;
      const events = await expectSound(store, key);
      expect(events.map(({ body }) => body.kind)).toEqual(['bytes', 'bytes', 'redacted', 'redacted', 'bytes']);
      const workspace = newWorkspace();
      await store.importCopies(workspace, sendCopies(await copiesOf(store, [key])));
      expect(await expectSound(store, { ...key, workspace })).toEqual(asImported(events));
    });

    const edits = {
      'an inline payload': (key) => setup.tamper.changePayload(key, 3),
      'a payload stored as a blob': (key) => setup.tamper.changePayload(key, 4),
      'the time': (key) => setup.tamper.changeAt(key, 3, 999),
      'the turn': (key) => setup.tamper.changeTurn(key, 3, 7),
      'a hash': (key) => setup.tamper.changeHash(key, 3),
      'a missing event': (key) => setup.tamper.removeEvent(key, 3),
      'the first event': (key) => setup.tamper.changeAt(key, 1, 1),
      'the last event': (key) => setup.tamper.changePayload(key, 5),
      'a missing last event': (key) => setup.tamper.removeEvent(key, 5),
    } satisfies Record<string, (key: ReturnType<typeof newKey>) => Promise<void>>;
    const firstBadOf: Record<keyof typeof edits, number> = {
      'an inline payload': 3,
      'a payload stored as a blob': 4,
      'the time': 3,
      'the turn': 3,
      'a hash': 3,
      'a missing event': 3,
      'the first event': 1,
      'the last event': 5,
      'a missing last event': 5,
    };
    for (const [what, edit] of Object.entries(edits)) {
      test(`[HASH4] verifying the chain finds the first event changed by hand: ${what}`, async () => {
        const [key, untouched] = [await fiveEvents(), await fiveEvents()];
        const child = newKey(key.workspace);
        await forkSession(setup.store, key, 5, child);
        await edit(key);
        const store = setup.other;
        expect(await firstBad(store, key)).toBe(firstBadOf[what as keyof typeof edits]);
        expect(await firstBad(store, child)).toBe(firstBadOf[what as keyof typeof edits]);
        await expectSound(store, untouched);
      });
    }
  });
