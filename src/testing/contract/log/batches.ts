import { describe, expect, test } from 'vitest';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import { isPerdureError } from '../../../schema/error.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { event, noise, opened, raw, rawText } from './new-events.ts';
import { append, expectSound, forkSession, mustAppend, mustHead, openSession, seqs } from './session-log.ts';

const runEnded = event('run.ended', { status: 'succeeded', output: 'Done.' });

const openMany = async (store: Store, count: number, workspace = newWorkspace()): Promise<readonly SessionKey[]> => {
  const keys = Array.from({ length: count }, () => newKey(workspace));
  await Promise.all(keys.map((key) => openSession(store, key)));
  return keys;
};

/** The outcome or error code of each append. */
const answers = async (sent: readonly Promise<{ outcome: string }>[]): Promise<readonly string[]> =>
  (await Promise.allSettled(sent)).map((result) => {
    if (result.status === 'fulfilled') return result.value.outcome;
    return isPerdureError(result.reason) ? result.reason.code : String(result.reason);
  });

export const describeBatches = (setup: ContractSetup) =>
  describe('concurrent appends', () => {
    test('[LOG7] an append that conflicts, is fenced, meets a wrong status or has a forbidden event does not affect the others', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const fine = await openMany(store, 4, workspace);
      const refused = await openMany(store, 5, workspace);
      const [conflict, fenced, forbidden, status, exists] = refused;
      const absent = newKey(workspace);
      const sent = [
        append(store, fine[0]!, [rawText('1')]),
        append(store, conflict!, [rawText('x')], { onHead: 7 }),
        append(store, fine[1]!, [rawText('2')]),
        append(store, fenced!, [runEnded], { writer: { kind: 'run', epoch: 3, claim: '' } }),
        append(store, fine[2]!, [rawText('3')], { onHead: 1 }),
        append(store, forbidden!, [rawText('ok'), runEnded]),
        append(store, status!, [rawText('x')], { whileStatus: ['closed'] }),
        append(store, exists!, [opened()], { creates: {} }),
        append(store, absent, [rawText('x')]),
        append(store, fine[3]!, [rawText('4')]),
      ];
      expect(await answers(sent)).toEqual([
        'appended',
        'conflict',
        'appended',
        'fenced',
        'appended',
        'WRITER_FORBIDDEN',
        'status',
        'exists',
        'missing',
        'appended',
      ]);
      for (const key of fine) expect(await expectSound(store, key)).toHaveLength(2);
      for (const key of refused) expect(await expectSound(store, key)).toHaveLength(1);
      expect(await store.head(absent)).toBeUndefined();
    });

    test('[LOG7] creating a session with an unreadable first event fails without affecting concurrent appends', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [bad, good] = [newKey(workspace), newKey(workspace)];
      const garbage = { ...raw(new TextEncoder().encode('{not json')), type: 'session.opened' };
      const sent = [
        append(store, good, [opened()], { creates: {} }),
        append(store, bad, [garbage], { creates: {} }),
        append(store, good, [rawText('a')]),
      ];
      expect(await answers(sent)).toEqual(['appended', 'EVENT_DAMAGED', 'appended']);
      expect(await store.head(bad)).toBeUndefined();
      expect(await expectSound(store, good)).toHaveLength(2);
    });

    test('[LOG7] concurrent appends to one session land in the order they were sent', async () => {
      const { store } = setup;
      const [key] = await openMany(store, 1);
      const texts = Array.from({ length: 60 }, (_, i) => `${i}`);
      const outcomes = await Promise.all(texts.map((text) => mustAppend(store, key!, [rawText(text)])));
      expect(outcomes.map(({ head }) => head.seq)).toEqual(texts.map((_, i) => i + 2));
      await expectSound(store, key!);
    });

    test('[LOG7] concurrent large and small appends to one session land in the order they were sent', async () => {
      const { store } = setup;
      const [key] = await openMany(store, 1);
      const sizes = [100_000, 10, 20_000, 10];
      const outcomes = await Promise.all(sizes.map((size, i) => mustAppend(store, key!, [raw(noise(size, i))])));
      expect(outcomes.map(({ head }) => head.seq)).toEqual([2, 3, 4, 5]);
      await expectSound(store, key!);
    });

    test.each([10, 100_000])(
      '[LOG7, FORK1] a fork sent right after the event at its fork point, of %i bytes, finds that event',
      async (size) => {
        const { store } = setup;
        const parent = newKey();
        const child = newKey(parent.workspace);
        await openSession(store, parent);
        await Promise.all([mustAppend(store, parent, [raw(noise(size, 1))]), forkSession(store, parent, 2, child)]);
        expect(seqs(await expectSound(store, child))).toEqual([1, 2, 3]);
      },
    );

    test('[LOG7] only one of several concurrent decisions on the same head lands, and the others conflict', async () => {
      const { store } = setup;
      const [key, bystander] = await openMany(store, 2);
      const sent = [1, 2, 3].map((i) => append(store, key!, [rawText(`${i}`)], { onHead: 1 }));
      const beside = append(store, bystander!, [rawText('x')], { onHead: 1 });
      expect([...(await answers(sent))].sort()).toEqual(['appended', 'conflict', 'conflict']);
      expect(await answers([beside])).toEqual(['appended']);
      expect((await mustHead(store, key!)).seq).toBe(2);
    });

    test('[LOG7, TEN1] concurrent appends to many workspaces each land in their own workspace', async () => {
      const { store } = setup;
      const { session } = newKey();
      const keys = Array.from({ length: 8 }, () => ({ workspace: newWorkspace(), session }));
      await Promise.all(keys.map((key) => openSession(store, key)));
      await Promise.all(keys.flatMap((key, i) => [1, 2, 3].map((j) => mustAppend(store, key, [rawText(`${i}.${j}`)]))));
      for (const key of keys) expect(seqs(await expectSound(store, key))).toEqual([1, 2, 3, 4]);
    });
  });
