import { describe, expect, test } from 'vitest';
import type { CallQuery, CallRecord, SessionKey, Store } from '../../../core/ports/store.ts';
import { newId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { called, completed, failed, hashOf, reported, runWriter } from '../records/record-events.ts';
import { callsOf, within } from '../records/record-pages.ts';
import { message } from './new-events.ts';
import { type append, forkSession, mustAppend, openSession } from './session-log.ts';

type CallFilter = Omit<CallQuery, 'limit' | 'before'>;
type Events = Parameters<typeof append>[2];
type Ranges = readonly (readonly [number, number])[];

const opened = async (store: Store, key: SessionKey = newKey()): Promise<SessionKey> => {
  await openSession(store, key, { at: 1 });
  return key;
};

const run = (store: Store, key: SessionKey, events: Events, at = 1_000) =>
  mustAppend(store, key, events, { writer: runWriter, at });

const shortOf = (calls: readonly CallRecord[]) => calls.map(({ callId, seq, status }) => [callId, seq, status]);

export const describeCallQueries = (setup: ContractSetup) =>
  describe('findCalls', () => {
    test('[QRY3] a call record has its run, turn, actor, hashes, duration and outcome', async () => {
      const { store } = setup;
      const key = await opened(store);
      const by = newId('run');
      await run(
        store,
        key,
        [message('do', 'next'), called('a', { tool: 'edit', run: by, actor: 'agent:coder' })],
        2_000,
      );
      const made = { session: key.session, callId: 'a', tool: 'edit', run: by, actor: 'agent:coder' };
      const running = { ...made, turn: 1, seq: 3, at: 2_000, status: 'running', inputHash: hashOf('in a') };
      expect(await callsOf(store, key.workspace)).toEqual([running]);
      await run(store, key, [completed('a', 12.5)], 3_000);
      const ended = { ...running, status: 'ok', endedSeq: 4, durationMs: 12.5, outputHash: hashOf('out a') };
      expect(await callsOf(store, key.workspace)).toEqual([ended]);
      await run(store, key, [called('b'), failed('b', 'timeout', 0)], 4_000);
      const [newest, older] = await callsOf(store, key.workspace, within(key, [1, 99]));
      expect(newest).toEqual({
        session: key.session,
        callId: 'b',
        tool: 'bash',
        status: 'timeout',
        turn: 1,
        seq: 5,
        at: 4_000,
        actor: 'system',
        endedSeq: 6,
        durationMs: 0,
        inputHash: hashOf('in b'),
      });
      expect(older).toEqual(ended);
    });

    test('[VIEW3] a call record has the source of its result, written with the call or later', async () => {
      const { store } = setup;
      const key = await opened(store);
      await run(store, key, [called('a'), completed('a', 5, 'person'), called('b'), called('c')]);
      await run(store, key, [
        completed('b', 5, 'reconcile'),
        failed('c', 'denied', 5, 'person'),
        called('d'),
        completed('d'),
      ]);
      const sources = async (query = {}) =>
        (await callsOf(store, key.workspace, query)).map(({ callId, source }) => [callId, source]);
      const all = [
        ['d', undefined],
        ['c', 'person'],
        ['b', 'reconcile'],
        ['a', 'person'],
      ];
      expect(await sources()).toEqual(all);
      await store.rebuildProjections(key.workspace);
      expect(await sources(within(key, [1, 99]))).toEqual(all);
    });

    test('[LOOP6, QRY8] a reported call is complete in one event of an outside writer, and ends no other call', async () => {
      const { store } = setup;
      const key = await opened(store);
      await run(store, key, [called('a')]);
      const writer = { kind: 'outside' } as const;
      await mustAppend(store, key, [message('do', 'next'), reported('a'), reported('b', 'threw')], {
        writer,
        at: 2_000,
      });
      const made = { session: key.session, tool: 'bash', turn: 1, at: 2_000, actor: 'system' };
      const expected = [
        { ...made, callId: 'b', status: 'threw', seq: 5, endedSeq: 5, inputHash: hashOf('in b') },
        {
          ...made,
          callId: 'a',
          status: 'ok',
          seq: 4,
          endedSeq: 4,
          inputHash: hashOf('in a'),
          outputHash: hashOf('out a'),
        },
      ];
      expect((await callsOf(store, key.workspace)).slice(0, 2)).toEqual(expected);
      expect(await callsOf(store, key.workspace, { status: ['running'] })).toMatchObject([{ callId: 'a', seq: 2 }]);
      await store.rebuildProjections(key.workspace);
      expect((await callsOf(store, key.workspace)).slice(0, 2)).toEqual(expected);
      expect(shortOf(await callsOf(store, key.workspace, within(key, [1, 4])))).toEqual([
        ['a', 4, 'ok'],
        ['a', 2, 'running'],
      ]);
    });

    test('[QRY8] call ids may repeat: an end settles the newest open call with its id', async () => {
      const { store } = setup;
      const key = await opened(store);
      await run(store, key, [called('a'), completed('a'), called('a'), failed('a')]);
      await run(store, key, [called('a')]);
      await run(store, key, [called('a')]);
      await run(store, key, [failed('a', 'denied'), completed('a'), completed('a'), called('a'), completed('none')]);
      expect(shortOf(await callsOf(store, key.workspace))).toEqual([
        ['a', 11, 'running'],
        ['a', 7, 'denied'],
        ['a', 6, 'ok'],
        ['a', 4, 'threw'],
        ['a', 2, 'ok'],
      ]);
      await run(store, key, [completed('a'), called('a'), completed('a')]);
      const calls = await callsOf(store, key.workspace);
      expect(calls.slice(0, 2).map(({ seq, endedSeq }) => [seq, endedSeq])).toEqual([
        [14, 15],
        [11, 13],
      ]);
    });

    test('[QRY3] calls are found by tool, actor, status and time, newest first, in pages', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [a, b] = [await opened(store, newKey(workspace)), await opened(store, newKey(workspace))];
      await run(store, a, [called('1', { tool: 'edit' })], 2_000);
      await run(store, b, [called('2', { actor: 'agent:coder' }), completed('2')], 2_000);
      await run(store, a, [completed('1'), called('3')], 3_000);
      await run(store, b, [called('4', { tool: 'edit', actor: 'agent:coder' }), failed('4', 'denied')], 4_000);
      const found = async (asked: CallFilter) => (await callsOf(store, workspace, asked)).map(({ callId }) => callId);
      const asked: readonly [CallFilter, readonly string[]][] = [
        [{}, ['4', '3', '2', '1']],
        [{ tool: 'edit' }, ['4', '1']],
        [{ actor: 'agent:coder' }, ['4', '2']],
        [{ actor: 'agent:coder', tool: 'edit' }, ['4']],
        [{ actor: 'agent:none' }, []],
        [{ status: ['running'] }, ['3']],
        [{ status: ['denied', 'running'] }, ['4', '3']],
        [{ status: [] }, []],
        [{ since: 3_000 }, ['4', '3']],
        [{ until: 3_000 }, ['3', '2', '1']],
        [{ tool: 'edit', status: ['ok'], since: 2_000, until: 2_000 }, ['1']],
        [within(a, [1, 99]), ['3', '1']],
        [{ ...within(a, [1, 99]), actor: 'agent:coder' }, []],
        [{ ...within(b, [1, 99]), actor: 'agent:coder', status: ['ok'] }, ['2']],
        [{ ...within(b, [1, 99]), tool: 'edit', status: ['denied'] }, ['4']],
        [{ ...within(b, [1, 99]), status: ['running'] }, []],
        [within(newKey(workspace), [1, 99]), []],
        [within(a), []],
      ];
      for (const [query, expected] of asked) expect(await found(query)).toEqual(expected);
    });

    test('[QRY9] a call whose end is outside the live events is reported as interrupted by every query', async () => {
      const { store } = setup;
      const key = await opened(store);
      await run(store, key, [called('a'), called('b'), completed('a'), completed('b'), called('c')]);
      const seen = async (asked: CallFilter, ...live: Ranges) =>
        callsOf(store, key.workspace, { ...asked, ...within(key, ...live) });
      expect(shortOf(await seen({}, [1, 4]))).toEqual([
        ['b', 3, 'interrupted'],
        ['a', 2, 'ok'],
      ]);
      const rewound: Ranges = [
        [1, 3],
        [5, 9],
      ];
      const [open, ended, cutOff] = [
        ['c', 6, 'running'],
        ['b', 3, 'ok'],
        ['a', 2, 'interrupted'],
      ];
      expect(shortOf(await seen({}, ...rewound))).toEqual([open, ended, cutOff]);
      expect(shortOf(await seen({ status: ['running'] }, ...rewound))).toEqual([open]);
      expect(shortOf(await seen({ status: ['interrupted'] }, ...rewound))).toEqual([cutOff]);
      expect(shortOf(await seen({ status: ['ok'] }, ...rewound))).toEqual([ended]);
      expect(shortOf(await seen({ status: ['running', 'interrupted'] }, ...rewound))).toEqual([open, cutOff]);
      const seenInRange = async (asked: CallFilter, live: Ranges) =>
        shortOf(
          await callsOf(store, key.workspace, { ...asked, within: { session: key.session, ranges: [[2, 3]], live } }),
        );
      expect(await seenInRange({}, rewound)).toEqual([ended, cutOff]);
      expect(await seenInRange({ status: ['ok'] }, [[1, 9]])).toEqual([
        ['b', 3, 'ok'],
        ['a', 2, 'ok'],
      ]);
      expect(await seenInRange({ status: ['interrupted'] }, [[1, 9]])).toEqual([]);
      const [cut] = await seen({}, [1, 2]);
      expect(cut).toEqual({
        session: key.session,
        callId: 'a',
        tool: 'bash',
        status: 'interrupted',
        turn: 0,
        seq: 2,
        at: 1_000,
        actor: 'system',
        inputHash: hashOf('in a'),
      });
    });

    test('[QRY2, QRY3, FORK3] a fork sees the calls made before its fork point; calls that had not ended there are reported as interrupted', async () => {
      const { store } = setup;
      const parent = await opened(store);
      const [child, grandchild] = [newKey(parent.workspace), newKey(parent.workspace)];
      await run(store, parent, [called('a'), called('b'), completed('a'), called('open')]);
      await forkSession(store, parent, 5, child);
      await run(store, parent, [completed('b'), called('late')]);
      await run(store, child, [called('c'), completed('c'), completed('b'), called('d')]);
      await forkSession(store, child, 10, grandchild);
      await run(store, child, [completed('d')]);
      const seen = async (key: SessionKey, asked: CallFilter = {}) =>
        shortOf(await callsOf(store, key.workspace, { ...asked, ...within(key, [1, 99]) }));
      const inherited = [
        ['open', 5, 'interrupted'],
        ['b', 3, 'interrupted'],
      ];
      expect(await seen(child)).toEqual([['d', 10, 'ok'], ['c', 7, 'ok'], ...inherited, ['a', 2, 'ok']]);
      expect(await seen(child, { status: ['running'] })).toEqual([]);
      expect(await seen(child, { status: ['interrupted'] })).toEqual(inherited);
      expect(await seen(grandchild)).toEqual([['d', 10, 'interrupted'], ['c', 7, 'ok'], ...inherited, ['a', 2, 'ok']]);
      expect(await seen(grandchild, { status: ['interrupted'] })).toEqual([['d', 10, 'interrupted'], ...inherited]);
      expect(await seen(parent)).toEqual([
        ['late', 7, 'running'],
        ['open', 5, 'running'],
        ['b', 3, 'ok'],
        ['a', 2, 'ok'],
      ]);
      expect(await seen(parent, { status: ['interrupted'] })).toEqual([]);
      expect(await callsOf(store, parent.workspace)).toHaveLength(6);
    });
  });
