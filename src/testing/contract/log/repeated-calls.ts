import { describe, expect, test } from 'vitest';
import type { RepeatQuery, SessionKey, Store } from '../../../core/ports/store.ts';
import type { PayloadOf } from '../../../schema/event.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { called, completed, failed, hashOf, runWriter } from '../records/record-events.ts';
import { callsOf, within } from '../records/record-pages.ts';
import { message } from './new-events.ts';
import { type append, forkSession, mustAppend, openSession } from './session-log.ts';

type Events = Parameters<typeof append>[2];

const asked = (input: string, live: RepeatQuery['live'] = []): RepeatQuery => ({
  tool: 'bash',
  inputHash: hashOf(`in ${input}`),
  live,
});

export const describeRepeatedCalls = (setup: ContractSetup) =>
  describe('findRepeated', () => {
    const begin = async (): Promise<{ store: Store; root: SessionKey }> => {
      const { store } = setup;
      const root = newKey();
      await openSession(store, root, { at: 1 });
      return { store, root };
    };
    const run = (store: Store, key: SessionKey, events: Events, at = 1_000) =>
      mustAppend(store, key, events, { writer: runWriter, at });

    test('[HAP7] the newest call of the family with the same tool and input is found, outside the given events', async () => {
      const { store, root } = await begin();
      await run(store, root, [called('a'), completed('a')], 2_000);
      const branch = newKey(root.workspace);
      await forkSession(store, root, 1, branch);
      const deep = newKey(root.workspace);
      await forkSession(store, branch, 2, deep);
      const stranger = newKey(root.workspace);
      await openSession(store, stranger);
      for (const key of [branch, deep]) {
        expect(await store.findRepeated(key, asked('a', [[1, 99]]))).toMatchObject({ ...seqOf(root, 2), status: 'ok' });
      }
      expect(await store.findRepeated(root, asked('a', [[1, 99]]))).toBeUndefined();
      expect(await store.findRepeated(root, asked('a', [[1, 1]]))).toMatchObject(seqOf(root, 2));
      expect(await store.findRepeated(branch, asked('b'))).toBeUndefined();
      expect(await store.findRepeated(branch, { ...asked('a'), tool: 'other' })).toBeUndefined();
      expect(await store.findRepeated(stranger, asked('a'))).toBeUndefined();
      expect(await store.findRepeated(newKey(root.workspace), asked('a'))).toBeUndefined();
      expect(await store.findRepeated({ ...newKey(), session: root.session }, asked('a'))).toBeUndefined();
      await run(store, branch, [called('a')], 3_000);
      expect(await store.findRepeated(root, asked('a', [[1, 99]]))).toMatchObject({
        ...seqOf(branch, 3),
        status: 'running',
      });
      expect(await store.findRepeated(deep, asked('a', [[1, 99]]))).toMatchObject(seqOf(branch, 3));
    });

    test('[HAP7] inherited events are excluded only up to the fork point', async () => {
      const { store, root } = await begin();
      await run(store, root, [called('a'), completed('a'), called('b'), completed('b')], 2_000);
      const branch = newKey(root.workspace);
      await forkSession(store, root, 3, branch);
      expect(await store.findRepeated(branch, asked('a', [[1, 99]]))).toBeUndefined();
      expect(await store.findRepeated(branch, asked('b', [[1, 99]]))).toMatchObject(seqOf(root, 4));
    });

    test.each([
      'ok',
      'interrupted',
      'cancelled',
      'timeout',
      'threw',
      'denied',
      'invalid_input',
      'unknown_tool',
    ] as const)(
      '[HAP7] whether a call with the outcome %s took effect, or may have, decides whether it is found',
      async (outcome) => {
        const { store, root } = await begin();
        await run(store, root, [called('a'), outcome === 'ok' ? completed('a') : failed('a', outcome)]);
        const found = await store.findRepeated(root, asked('a'));
        expect(found?.status).toBe(
          ['ok', 'interrupted', 'cancelled', 'timeout'].includes(outcome) ? outcome : undefined,
        );
      },
    );

    test('[HAP1, HAP7] calls without effects and confined calls are neither lasting nor found', async () => {
      const { store, root } = await begin();
      const about: Readonly<Record<string, Pick<PayloadOf<'tool.called'>, 'effects' | 'confined'>>> = {
        none: { effects: 'none' },
        confined: { effects: 'once', confined: true },
        once: { effects: 'once' },
        idempotent: { effects: 'idempotent' },
        unknown: {},
      };
      for (const [name, declared] of Object.entries(about)) await run(store, root, [called(name, declared)]);
      const found = await Promise.all(Object.keys(about).map((name) => store.findRepeated(root, asked(name))));
      expect(found.map((call) => call?.callId)).toEqual([undefined, undefined, 'once', 'idempotent', 'unknown']);
      for (const where of [{}, within(root, [1, 99])]) {
        const lasting = await callsOf(store, root.workspace, { ...where, lasting: true });
        expect(lasting.map(({ callId }) => callId).toSorted()).toEqual(['idempotent', 'once', 'unknown']);
        const all = await callsOf(store, root.workspace, where);
        const declared = all.map(({ callId, effects, confined }) => [callId, { effects, confined }]);
        expect(Object.fromEntries(declared)).toEqual(about);
      }
    });

    test('[HAP7, QRY4] a rebuild keeps what is found', async () => {
      const { store, root } = await begin();
      await run(store, root, [message('go', 'next'), called('a', { effects: 'once' }), completed('a')]);
      const branch = newKey(root.workspace);
      await forkSession(store, root, 1, branch);
      const before = await store.findRepeated(branch, asked('a', [[1, 99]]));
      expect(before).toMatchObject({ ...seqOf(root, 3), effects: 'once' });
      await store.rebuildProjections(root.workspace);
      expect(await store.findRepeated(branch, asked('a', [[1, 99]]))).toEqual(before);
    });
  });

const seqOf = ({ session }: SessionKey, seq: number) => ({ session, seq });
