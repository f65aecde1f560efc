import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AppendOutcome, AppendRequest, NewEvent, SessionKey, Store } from '../../src/core/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { newKey, newWorkspace } from '../../src/testing/contract/contract-setup.ts';
import { idempotencyKey, noise, opened, raw, rawText } from '../../src/testing/contract/log/new-events.ts';
import { append, expectSound, mustAppend, openSession } from '../../src/testing/contract/log/session-log.ts';
import { createDatabase, type TestDatabase } from '../support/postgres/postgres.ts';
import { type Cut, startProxy } from '../support/postgres/postgres-proxy.ts';

let database: TestDatabase;
let other: Store;
beforeAll(async () => {
  database = await createDatabase();
  other = await openPostgresStore({ url: database.url });
});
afterAll(async () => {
  await other.close();
  await database.drop();
});

interface Kind {
  readonly event?: NewEvent;
  readonly options?: Partial<AppendRequest>;
  /** Prepares the session before the append is made. */
  readonly before: (store: Store, key: SessionKey) => Promise<unknown>;
}

const key = idempotencyKey('k', 'a');
const kinds: Record<string, Kind> = {
  'continues from a known head': { before: openSession },
  'has a key': { before: openSession, options: { key } },
  'makes a session': { before: async () => undefined, event: opened(), options: { key, creates: {} } },
  'brings a blob': { before: openSession, event: raw(noise(20_000, 1)), options: { key } },
  'finds a head that has moved': {
    before: async (store, session) => {
      await openSession(store, session);
      await mustAppend(other, session, [rawText('from elsewhere')]);
    },
    options: { key },
  },
};

/**
 * Makes one append of this kind and cuts its connection at that point. `wasCut` is false if the append ended before
 * the cut.
 */
const cutAppend = async (kind: Kind, cut: Cut, afterwards: 'pass' | 'refuse') => {
  const proxy = await startProxy(database.url);
  const store = await openPostgresStore({ url: proxy.url, poolSize: 1 });
  const session = newKey(newWorkspace());
  await kind.before(store, session);
  await store.head(session); // drains earlier notifications from the connection
  const seqBefore = (await other.head(session))?.seq ?? 0;
  const send = () => append(store, session, [kind.event ?? rawText('a')], kind.options);
  proxy.afterwards = afterwards;
  proxy.cut = { ...cut };
  const outcome = await send().catch((error: unknown) => error);
  const wasCut = proxy.cut === undefined;
  proxy.cut = undefined;
  proxy.mode = 'pass';
  const landed = async () => ((await other.head(session))?.seq ?? 0) - seqBefore;
  return {
    wasCut,
    outcome,
    send,
    landed,
    isSound: () => expectSound(other, session),
    close: async () => {
      await store.close();
      await proxy.close();
    },
  };
};

const appended = { outcome: 'appended' };
const sides = ['client', 'server'] as const;
const atOnce = 16;

/**
 * Cuts at each message in turn, several appends concurrently, until an append ends before its cut. Returns the number
 * of cuts.
 */
const cutAtEach = async (from: Cut['from'], wasCutAt: (cut: Cut) => Promise<boolean>): Promise<number> => {
  for (let cuts = 0; ; ) {
    const next = Array.from({ length: atOnce }, (_, n) => wasCutAt({ from, messages: cuts + n }));
    const wereCut = (await Promise.all(next)).filter(Boolean).length;
    cuts += wereCut;
    if (wereCut < atOnce) return cuts;
  }
};

describe.each(Object.entries(kinds))('an append that %s, cut off at each message', (_, kind) => {
  test.each(sides)('[FAULT1, LOG3] from the %s is acknowledged and lands once', async (from) => {
    const cuts = await cutAtEach(from, async (cut) => {
      const { wasCut, outcome, landed, isSound, close } = await cutAppend(kind, cut, 'pass');
      expect({ cut, outcome }).toMatchObject({ cut, outcome: appended });
      expect(await landed()).toBe(1);
      await isSound();
      await close();
      return wasCut;
    });
    expect(cuts).toBeGreaterThan(3);
  });
});

test.each(sides)(
  '[FAULT1, KEY1] without a second connection, an append cut at each message of the %s succeeds, fails, or can be resolved by repeating its key',
  async (from) => {
    const seen = { acknowledged: 0, refused: 0, unknown: 0 };
    await cutAtEach(from, async (cut) => {
      const { wasCut, outcome, landed, send, isSound, close } = await cutAppend(kinds['has a key']!, cut, 'refuse');
      const details = (outcome as { details?: { outcome?: string } }).details;
      const before = await landed();
      if ((outcome as AppendOutcome).outcome === 'appended') {
        seen.acknowledged++;
        expect(before).toBe(1);
      } else {
        expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE' });
        const isUnknown = details?.outcome === 'unknown';
        seen[isUnknown ? 'unknown' : 'refused']++;
        if (!isUnknown) expect(before).toBe(0);
        expect(await send()).toMatchObject({ outcome: before === 1 ? 'duplicate' : 'appended' });
      }
      expect(await landed()).toBe(1);
      await isSound();
      await close();
      return wasCut;
    });
    expect(seen.acknowledged).toBeGreaterThan(0);
    expect(seen.unknown).toBeGreaterThan(0);
  },
);
