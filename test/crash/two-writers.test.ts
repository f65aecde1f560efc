import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AppendOutcome, AppendRequest, NewEvent, SessionKey, Store } from '../../src/core/ports/store.ts';
import { newKey, newWorkspace } from '../../src/testing/contract/contract-setup.ts';
import { idempotencyKey, message, opened, raw, rawText } from '../../src/testing/contract/log/new-events.ts';
import { expectSound, mustAppend, openSession, seqs, textOf } from '../../src/testing/contract/log/session-log.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';
import { openRemoteStore, type RemoteStore } from './remote-store.ts';

const outside = { kind: 'outside' } as const;
const toolCalled: NewEvent = { ...raw(new TextEncoder().encode('{}')), type: 'tool.called' };

const requestOf = (key: SessionKey, event: NewEvent, options: Partial<AppendRequest> = {}): AppendRequest => ({
  ...key,
  writer: outside,
  at: 1_000,
  events: [event],
  ...options,
});

const kindsOf = (outcomes: readonly AppendOutcome[]): readonly string[] =>
  outcomes.map(({ outcome }) => outcome).sort();
const landed = (outcomes: readonly AppendOutcome[]) => outcomes.filter((each) => each.outcome === 'appended');

const claim = async (process: RemoteStore, key: SessionKey) => {
  const [outcome] = await process.append(requestOf(key, message('claim'), { raisesEpoch: true }));
  if (outcome?.outcome !== 'appended') throw new Error(`the claim did not land: ${outcome?.outcome}`);
  return outcome.head;
};

describe.each(storeKinds)('processes on one %s', (kind) => {
  let processes: readonly RemoteStore[];
  let store: Store;
  const cleanups: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const { address, remove } = await newStorePlace(kind);
    cleanups.push(remove);
    processes = await Promise.all(Array.from({ length: 3 }, () => openRemoteStore(address)));
    store = await openStoreAt(address);
    cleanups.push(...[...processes, store].map((each) => () => each.close()));
  });
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  test('[ST1, ST4] processes that create the same new database concurrently can all write to it', async () => {
    const keys = processes.map(() => newKey());
    await Promise.all(processes.map((each, i) => each.append(requestOf(keys[i]!, opened(), { creates: {} }))));
    for (const key of keys) expect(await expectSound(store, key)).toHaveLength(1);
  });

  test('[LOG1, LOG4] when three processes decide on the same head, one decision lands and the others conflict', async () => {
    const key = newKey();
    await openSession(store, key);
    for (let head = 1; head <= 40; head++) {
      const decision = (i: number) => requestOf(key, rawText(`${i}`), { onHead: head });
      const outcomes = (await Promise.all(processes.map((each, i) => each.append(decision(i))))).flat();
      expect(kindsOf(outcomes)).toEqual(['appended', 'conflict', 'conflict']);
      const winner = outcomes.findIndex(({ outcome }) => outcome === 'appended');
      expect(outcomes.filter((_, i) => i !== winner)).toEqual(Array(2).fill({ outcome: 'conflict', head: head + 1 }));
      expect(textOf((await store.read(key, { after: head, limit: 2 }))[0]!)).toBe(`${winner}`);
    }
    expect(await expectSound(store, key)).toHaveLength(41);
  });

  test('[LOG1, LOG4, LOG10] facts from three processes all land, each with its own seq', async () => {
    const key = newKey();
    await openSession(store, key);
    const facts = (i: number) => Array.from({ length: 100 }, (_, n) => requestOf(key, rawText(`${i}.${n}`)));
    const answers = await Promise.all(processes.map((each, i) => each.append(...facts(i))));
    const acknowledged = answers.flat().flatMap((each) => (each.outcome === 'appended' ? each.events : []));
    expect(acknowledged).toHaveLength(300);
    const events = await expectSound(store, key);
    const bySeq = acknowledged.toSorted((a, b) => a.seq - b.seq);
    expect(events.slice(1).map(({ seq, hash }) => ({ seq, hash: Buffer.from(hash) }))).toEqual(
      bySeq.map(({ seq, hash }) => ({ seq, hash: Buffer.from(hash) })),
    );
    expect(new Set(events.slice(1).map(textOf)).size).toBe(300);
  });

  test('[KEY1] when two processes append with one key at the same time, one append lands, and both receive its seq', async () => {
    const key = newKey();
    await openSession(store, key);
    for (let head = 1; head <= 40; head++) {
      const fact = requestOf(key, rawText('once'), { key: idempotencyKey(`key ${head}`, 'once') });
      const outcomes = (await Promise.all(processes.slice(0, 2).map((each) => each.append(fact)))).flat();
      expect(kindsOf(outcomes)).toEqual(['appended', 'duplicate']);
      expect(outcomes).toContainEqual({ outcome: 'duplicate', seq: head + 1, count: 1 });
    }
    expect(await expectSound(store, key)).toHaveLength(41);
  });

  test('[WR1] a run writer that slept while another process claimed its session is fenced when it wakes up', async () => {
    const [sleeper, claimer] = processes as [RemoteStore, RemoteStore];
    const key = newKey();
    await openSession(store, key);
    const claimed = await claim(sleeper, key);
    const asRun = requestOf(key, toolCalled, { writer: { kind: 'run', epoch: claimed.epoch, claim: claimed.claim } });
    expect(kindsOf(await sleeper.append(asRun))).toEqual(['appended']);
    sleeper.signal('SIGSTOP');
    const late = sleeper.append(asRun, { ...asRun, onHead: 4 }, asRun);
    const taken = await claim(claimer, key);
    sleeper.signal('SIGCONT');
    expect(await late).toEqual(Array(3).fill({ outcome: 'fenced', epoch: taken.epoch }));
    expect(await expectSound(store, key)).toHaveLength(4);
  });

  test('[WR1] a run writer that is stopped anywhere in an append lands nothing after another process claims the session', async () => {
    const [zombie, claimer] = processes as [RemoteStore, RemoteStore];
    for (let round = 1; round <= 15; round++) {
      const key = newKey();
      await openSession(store, key);
      const working = zombie.insist(requestOf(key, toolCalled, { writer: { kind: 'run', epoch: 0, claim: '' } }));
      await pause(randomInt(0, 30));
      zombie.signal('SIGSTOP');
      const claiming = claim(claimer, key);
      // The stopped process may hold the lock that the claim waits for.
      await Promise.race([claiming, pause(200)]);
      zombie.signal('SIGCONT');
      const taken = await claiming;
      const outcomes = await working;
      expect(outcomes.at(-1)).toEqual({ outcome: 'fenced', epoch: 1 });
      expect(taken.seq).toBe(landed(outcomes).length + 2);
      expect((await expectSound(store, key)).at(-1)).toMatchObject({ seq: taken.seq, type: 'message.appended' });
    }
  });

  test('[LOG7, ST4] a conflict, a fence and a missing session in a batch do not affect its other appends, while another process writes too', async () => {
    const [batching, meddling] = processes as [RemoteStore, RemoteStore];
    const workspace = newWorkspace();
    const keys = Array.from({ length: 40 }, () => newKey(workspace));
    for (const key of keys) await openSession(store, key);
    const [stale, fenced, ...sound] = keys as [SessionKey, SessionKey, ...SessionKey[]];
    await mustAppend(store, stale, [rawText('moves the head')]);
    for (let round = 0; round < 10; round++) {
      const batch = [
        requestOf(stale, rawText('stale'), { onHead: 1 }),
        requestOf(fenced, rawText('fenced'), { writer: { kind: 'run', epoch: 7, claim: '' } }),
        requestOf(newKey(workspace), rawText('missing')),
        ...sound.map((key) => requestOf(key, rawText('batched'))),
      ];
      const meddled = sound.map((key) => requestOf(key, rawText('meddled')));
      const [outcomes, others] = await Promise.all([batching.append(...batch), meddling.append(...meddled)]);
      expect(outcomes.slice(0, 3)).toEqual([
        { outcome: 'conflict', head: 2 },
        { outcome: 'fenced', epoch: 0 },
        { outcome: 'missing' },
      ]);
      expect(landed([...outcomes, ...others])).toHaveLength(2 * sound.length);
    }
    expect(seqs(await expectSound(store, stale))).toEqual([1, 2]);
    expect(seqs(await expectSound(store, fenced))).toEqual([1]);
    for (const key of sound) expect(await expectSound(store, key)).toHaveLength(21);
  });
});
