import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LedgerRow, QuotaLimits } from '../../../core/ports/ledger.ts';
import { memberQuota, membersQuota, workspaceQuota } from '../../../core/ports/ledger.ts';
import type { RuntimeStore } from '../../../core/ports/runtime-store.ts';
import type { AppendRequest, NewEvent, SessionKey, Store } from '../../../core/ports/store.ts';
import { Actor, newId, type RunId, type WorkspaceId } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { answered, runWriter } from '../records/record-events.ts';
import { event, opened, rawText } from './new-events.ts';
import { append, mustAppend } from './session-log.ts';

const noon = Date.UTC(2026, 10, 30, 12);
const day = '2026-11-30';
const month = '2026-11';
const run: RunId = newId('run');
const by = (member: string | undefined) => (member === undefined ? undefined : Actor.parse(`member:${member}`));

/** Sets or removes a quota, whatever was set before. */
const setQuota = async (store: RuntimeStore, workspace: WorkspaceId, id: string, limits: QuotaLimits | undefined) => {
  const onVersion = (await store.record(workspace, 'quota', id))?.version ?? 0;
  const body = limits && ({ id, limits } as unknown as Json);
  expect(await store.writeRecords(workspace, [{ kind: 'quota', id, onVersion, body }])).toBe(true);
};

const openAs = async (store: Store, key: SessionKey, member?: string, at = noon) => {
  const first: NewEvent = { ...opened(), ...(member !== undefined && { actor: by(member)! }) };
  return append(store, key, [first], { creates: {}, at });
};

const newSession = async (store: Store, workspace: WorkspaceId, member?: string): Promise<SessionKey> => {
  const key = newKey(workspace);
  expect(await openAs(store, key, member)).toMatchObject({ outcome: 'appended' });
  return key;
};

interface Called {
  readonly tokens?: number;
  readonly usd?: number | undefined;
  readonly member?: string | undefined;
  readonly model?: string;
  readonly at?: number;
}

const calledEvent = (
  { tokens = 100, usd, member, model = 'test/model' }: Called,
  message = newId('msg'),
): NewEvent => ({
  ...event('model.called', {
    model,
    attempt: 1,
    message,
    settings: {},
    tools: [],
    instructionsHash: '0'.repeat(64),
    requestTokens: tokens,
    reservedTokens: tokens,
    ...(usd !== undefined && { reservedUsd: usd }),
    ...(member !== undefined && { requestedBy: by(member) }),
  }),
  run,
});

const call = (store: Store, key: SessionKey, asked: Called = {}) =>
  append(store, key, [calledEvent(asked)], { writer: runWriter, at: asked.at ?? noon });

const end = (store: Store, key: SessionKey, events: readonly [NewEvent, ...NewEvent[]], at = noon) =>
  mustAppend(store, key, events, { writer: runWriter, at });

const admitted = (member: string, notBefore?: number): NewEvent => ({
  ...event('input.admitted', {
    run,
    message: { id: newId('msg'), role: 'user', content: [{ type: 'text', text: 'hi' }] },
    policy: 'queue',
    ...(notBefore !== undefined && { notBefore }),
  }),
  actor: by(member)!,
});

const ended: NewEvent = { ...event('run.ended', { status: 'cancelled' }), run };

/** The rows as `member meter period used+reserved`. */
const shown = (rows: readonly LedgerRow[]) =>
  rows.map(({ member, meter, period, used, reserved }) => `${member} ${meter} ${period} ${used}+${reserved}`);

const ledgerOf = async (store: Store, workspace: WorkspaceId, meter?: string, periods = [day, month]) =>
  shown((await store.ledger(workspace, periods)).filter((row) => meter === undefined || row.meter === meter));

/** A rebuild must find the same rows, from the log alone. */
const expectRebuilt = async (store: Store, workspace: WorkspaceId, periods = [day, month]) => {
  const before = await ledgerOf(store, workspace, undefined, periods);
  await store.rebuildProjections(workspace);
  expect(await ledgerOf(store, workspace, undefined, periods)).toEqual(before);
};

export const describeLedger = (setup: ContractSetup) =>
  describe('the ledger', () => {
    test('[QUO1] a first quota counts what was used before, and without quotas no ledger is kept', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const key = await newSession(store, workspace, 'mia');
      await end(store, key, [answered({ inputTokens: 30, outputTokens: 10, usd: 0.25 }, { member: 'mia' })]);
      await call(store, key, { tokens: 500, usd: 1, member: 'mia' });
      expect(await ledgerOf(store, workspace)).toEqual([]);
      await setQuota(store, workspace, workspaceQuota, { tokensPerDay: 1000 });
      const usage = [`usd ${month} 250000+1000000`, `usd ${day} 250000+1000000`];
      expect((await ledgerOf(store, workspace)).sort()).toEqual(
        ['', 'mia']
          .flatMap((member) =>
            ['bytes  65536+0', 'sessions  1+0', `tokens ${month} 40+500`, `tokens ${day} 40+500`, ...usage].map(
              (rest) => `${member} ${rest}`,
            ),
          )
          .sort(),
      );
      await setQuota(store, workspace, workspaceQuota, undefined);
      expect(await ledgerOf(store, workspace)).toEqual([]);
    });

    test('[QUO2] a call reserves its tokens and USD, and its outcome settles them', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, workspaceQuota, { tokensPerDay: 1000 });
      const key = await newSession(store, workspace);
      expect(await call(store, key, { tokens: 900, usd: 2 })).toMatchObject({ outcome: 'appended' });
      expect(await ledgerOf(store, workspace, 'tokens')).toEqual([` tokens ${month} 0+900`, ` tokens ${day} 0+900`]);
      const refusal = { kind: 'exceeded', quota: 'tokensPerDay', used: 900, asked: 200, limit: 1000 };
      const second = await newSession(store, workspace);
      const head = await store.head(second);
      expect(await call(store, second, { tokens: 200 })).toEqual({
        outcome: 'quota',
        refusal: { ...refusal, resetsAt: Date.UTC(2026, 11, 1) },
      });
      expect(await store.head(second)).toEqual(head);
      await end(store, key, [answered({ inputTokens: 100, outputTokens: 50, usd: 0.5 })]);
      expect(await ledgerOf(store, workspace, 'tokens')).toEqual([` tokens ${month} 150+0`, ` tokens ${day} 150+0`]);
      expect(await call(store, second, { tokens: 200 })).toMatchObject({ outcome: 'appended' });
      await expectRebuilt(store, workspace);
    });

    test('[QUO3] whatever follows a call whose worker died releases its reservation', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, workspaceQuota, { tokensPerDay: 1000 });
      const message = newId('msg');
      const usage = { inputTokens: 7, outputTokens: 0 };
      const usedBy = {
        model: 'test/model',
        agent: Actor.parse('agent:coder'),
        requestedBy: Actor.parse('outside'),
      };
      const ends: readonly (readonly [NewEvent, number])[] = [
        [event('message.abandoned', { message, why: 'stopped' }), 0],
        [event('message.abandoned', { message, why: 'stopped', usage, usedBy }), 7],
        [event('model.failed', { model: 'test/model', attempt: 1, failure: 'timeout', message: 'late' }), 0],
        [{ ...event('run.started', { attempt: 2 }), run }, 0],
        [{ ...event('run.resumed', {}), run }, 0],
        [ended, 0],
      ];
      let used = 0;
      for (const [last, charged] of ends) {
        const key = await newSession(store, workspace);
        const made = calledEvent({ tokens: 900 }, message);
        await mustAppend(store, key, [made], { writer: runWriter, at: noon });
        // The pieces of an earlier answer may be stored late. They settle nothing.
        await end(store, key, [event('message.abandoned', { message: newId('msg'), isRest: true })]);
        expect(await ledgerOf(store, workspace, 'tokens', [day])).toEqual([` tokens ${day} ${used}+900`]);
        await end(store, key, [last]);
        used += charged;
        expect(await ledgerOf(store, workspace, 'tokens', [day])).toEqual(used ? [` tokens ${day} ${used}+0`] : []);
      }
      await expectRebuilt(store, workspace);
    });

    test('[QUO2] of many calls at once, no more than the quota allows are made, whichever process makes them', async () => {
      const workspace = newWorkspace();
      await setQuota(setup.store, workspace, workspaceQuota, { tokensPerMonth: 550 });
      const keys = await Promise.all(Array.from({ length: 16 }, () => newSession(setup.store, workspace)));
      const outcomes = await Promise.all(
        keys.map((key, place) => call(place % 2 ? setup.other : setup.store, key, { tokens: 100 })),
      );
      expect(outcomes.filter(({ outcome }) => outcome === 'appended')).toHaveLength(5);
      expect(outcomes.filter(({ outcome }) => outcome === 'quota')).toHaveLength(11);
      expect(await ledgerOf(setup.other, workspace, 'tokens', [month])).toEqual([` tokens ${month} 0+500`]);
      await expectRebuilt(setup.store, workspace);
    });

    test('[QUO4] days and months begin anew in UTC, and a call is released from the day on which it began', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, workspaceQuota, { tokensPerDay: 100 });
      const late = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
      const key = await newSession(store, workspace);
      expect(await call(store, key, { at: late })).toMatchObject({ outcome: 'appended' });
      const next = await newSession(store, workspace);
      expect(await call(store, next, { at: late })).toMatchObject({ outcome: 'quota' });
      expect(await call(store, next, { at: late + 1 })).toMatchObject({ outcome: 'appended' });
      await end(store, key, [answered({ inputTokens: 20, outputTokens: 10 })], late + 5);
      expect(await ledgerOf(store, workspace, 'tokens', [day, '2026-12-01'])).toEqual([' tokens 2026-12-01 30+100']);
      await expectRebuilt(store, workspace, [day, month, '2026-12-01', '2026-12']);
    });

    test('[QUO5] a member has their own quota, or else the default of members', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, membersQuota, { usdPerDay: 1 });
      await setQuota(store, workspace, memberQuota('ann'), { usdPerDay: 3, sessions: 2 });
      const keys = await Promise.all([1, 2, 3].map(() => newSession(store, workspace)));
      expect(await call(store, keys[0]!, { usd: 2, member: 'mia' })).toMatchObject({
        outcome: 'quota',
        refusal: { quota: 'usdPerDay', member: 'mia', used: 0, asked: 2, limit: 1 },
      });
      expect(await call(store, keys[0]!, { usd: 2, member: 'ann' })).toMatchObject({ outcome: 'appended' });
      expect(await call(store, keys[1]!, { usd: 2, member: 'ann' })).toMatchObject({
        outcome: 'quota',
        refusal: { quota: 'usdPerDay', member: 'ann', used: 2, limit: 3 },
      });
      expect(await call(store, keys[1]!, { usd: 1, member: 'mia' })).toMatchObject({ outcome: 'appended' });
      expect(await call(store, keys[2]!, { member: 'zoe', model: 'test/free' })).toMatchObject({
        outcome: 'quota',
        refusal: { kind: 'unpriced', quota: 'usdPerDay', member: 'zoe', name: 'test/free' },
      });
      await expectRebuilt(store, workspace);
    });

    test('[QUO6] sessions are counted until they are archived, by workspace and by the member who opened them', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, workspaceQuota, { sessions: 3 });
      await setQuota(store, workspace, membersQuota, { sessions: 2 });
      const key = await newSession(store, workspace, 'mia');
      await newSession(store, workspace, 'mia');
      expect(await openAs(store, newKey(workspace), 'mia')).toMatchObject({
        outcome: 'quota',
        refusal: { kind: 'exceeded', quota: 'sessions', member: 'mia', used: 2, limit: 2 },
      });
      await newSession(store, workspace, 'ann');
      const { refusal } = (await openAs(store, newKey(workspace), 'ann')) as { refusal?: object };
      expect(refusal).toMatchObject({ quota: 'sessions', used: 3, limit: 3 });
      expect(refusal).not.toHaveProperty('member');
      await mustAppend(store, key, [event('session.closed', {}), event('session.archived', {})]);
      expect(await openAs(store, newKey(workspace), 'ann')).toMatchObject({ outcome: 'appended' });
      expect(await ledgerOf(store, workspace, 'sessions')).toEqual([
        ' sessions  3+0',
        'ann sessions  2+0',
        'mia sessions  1+0',
      ]);
      await expectRebuilt(store, workspace);
    });

    test('[QUO7] a run counts from its admission until it ends or waits, and an outcome is never refused', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, workspaceQuota, { runs: 1, tokensPerDay: 100 });
      const [first, second] = [await newSession(store, workspace), await newSession(store, workspace)];
      await mustAppend(store, first, [admitted('mia')], { at: noon });
      expect(await append(store, second, [admitted('mia')], { at: noon })).toMatchObject({
        outcome: 'quota',
        refusal: { quota: 'runs', used: 1, asked: 1, limit: 1 },
      });
      // A further input of the same session, and one for later, need no room.
      await mustAppend(store, first, [admitted('mia')], { at: noon });
      await mustAppend(store, second, [admitted('mia', noon + 60_000)], { at: noon });
      await end(store, first, [{ ...event('run.started', { attempt: 1 }), run }]);
      await end(store, second, [{ ...event('run.started', { attempt: 1 }), run }]);
      // A run that began without a check counts from its first model request.
      expect(await ledgerOf(store, workspace, 'runs')).toEqual([' runs  1+0', 'mia runs  1+0']);
      expect(await call(store, second, { member: 'mia' })).toMatchObject({ refusal: { quota: 'runs', used: 1 } });
      await end(store, first, [{ ...event('run.waiting', { for: 'approval' }), run }]);
      await end(store, second, [answered({ inputTokens: 5000, outputTokens: 1 }), ended]);
      expect(await ledgerOf(store, workspace, 'runs')).toEqual([]);
      await expectRebuilt(store, workspace);
    });

    test('[QUO8] bytes are counted by session in begun steps, and refuse new work but no outcome', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const key = await newSession(store, workspace, 'mia');
      await mustAppend(store, key, [rawText('x'.repeat(100_000))]);
      await setQuota(store, workspace, workspaceQuota, { bytes: 150_000 });
      expect(await ledgerOf(store, workspace, 'bytes')).toEqual([' bytes  131072+0', 'mia bytes  131072+0']);
      await end(store, key, [rawText('y'.repeat(100_000))]);
      const refused = { outcome: 'quota', refusal: { quota: 'bytes', limit: 150_000 } };
      expect(await append(store, key, [rawText('z'.repeat(100_000))])).toMatchObject(refused);
      await end(store, key, [rawText('y'.repeat(100_000))]);
      const title = 'ü'.repeat(500);
      for (let count = 0; count < 80; count++) await mustAppend(store, key, [event('session.described', { title })]);
      expect(await call(store, key, {})).toMatchObject(refused);
      expect(await openAs(store, newKey(workspace))).toMatchObject(refused);
      await expectRebuilt(store, workspace);
    });

    test('[QUO9] an agent or a model that a quota does not include is refused', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, workspaceQuota, { agents: ['desk'], models: ['test/a', 'test/b'] });
      await setQuota(store, workspace, memberQuota('mia'), { models: ['test/b'] });
      const asked = (name: string): AppendRequest => ({
        ...newKey(workspace),
        writer: { kind: 'outside' },
        creates: {},
        at: noon,
        events: [opened({ agent: { name, version: 1 } })],
      });
      expect(await store.append(asked('coder'))).toMatchObject({
        outcome: 'quota',
        refusal: { kind: 'excluded', quota: 'agents', name: 'coder', allowed: ['desk'] },
      });
      const desk = asked('desk');
      expect(await store.append(desk)).toMatchObject({ outcome: 'appended' });
      expect(await call(store, desk, { model: 'test/c' })).toMatchObject({
        refusal: { quota: 'models', name: 'test/c' },
      });
      expect(await call(store, desk, { model: 'test/a', member: 'mia' })).toMatchObject({
        outcome: 'quota',
        refusal: { kind: 'excluded', quota: 'models', member: 'mia', name: 'test/a', allowed: ['test/b'] },
      });
      expect(await call(store, desk, { model: 'test/b', member: 'mia' })).toMatchObject({ outcome: 'appended' });
    });

    test('[QUO10] the use of another tenant counts for nothing here', async () => {
      const { store } = setup;
      const [workspace, neighbour] = [newWorkspace(), newWorkspace()];
      await setQuota(store, workspace, workspaceQuota, { tokensPerDay: 100, sessions: 1 });
      const theirs = await newSession(store, neighbour, 'mia');
      await call(store, theirs, { tokens: 1_000_000, member: 'mia' });
      await newSession(store, neighbour, 'mia');
      const key = await newSession(store, workspace, 'mia');
      expect(await call(store, key, { tokens: 100, member: 'mia' })).toMatchObject({ outcome: 'appended' });
      expect(await ledgerOf(store, neighbour)).toEqual([]);
    });

    test('[QUO1] the ledger is a fold of the logs', async () => {
      const { store } = setup;
      const member = fc.constantFrom(undefined, 'ann', 'mia');
      const step = fc.record({
        of: fc.nat(2),
        member,
        kind: fc.constantFrom('call', 'answer', 'fail', 'admit', 'start', 'wait', 'end', 'archive', 'bytes', 'set'),
        tokens: fc.nat(5000),
        usd: fc.option(fc.double({ min: 0, max: 2, noNaN: true }), { nil: undefined }),
        hours: fc.nat(60),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const workspace = newWorkspace();
          const keys = await Promise.all([undefined, 'ann', 'mia'].map((who) => newSession(store, workspace, who)));
          await setQuota(store, workspace, membersQuota, { tokensPerDay: 20_000 });
          for (const { of, member: who, kind, tokens, usd, hours } of steps) {
            const at = noon + hours * 3_600_000;
            const key = keys[of]!;
            const usage = { inputTokens: tokens, outputTokens: 1, ...(usd !== undefined && { usd }) };
            const events: Partial<Record<typeof kind, NewEvent>> = {
              answer: answered(usage, { ...(who !== undefined && { member: who }) }),
              fail: event('model.failed', { model: 'm', attempt: 1, failure: 'timeout', message: 'late' }),
              start: { ...event('run.started', { attempt: 1 }), run },
              wait: { ...event('run.waiting', { for: 'budget' }), run },
              end: ended,
              archive: event('session.archived', {}),
              bytes: rawText('b'.repeat(tokens * 20)),
            };
            const made = events[kind];
            if (made) await mustAppend(store, key, [made], { writer: runWriter, at });
            else if (kind === 'call') await call(store, key, { tokens, usd, member: who, at });
            else if (kind === 'admit') await append(store, key, [admitted(who ?? 'zoe')], { at });
            else await setQuota(store, workspace, workspaceQuota, { tokensPerMonth: 10 * tokens });
          }
          const periods = ['2026-11-30', '2026-12-01', '2026-12-02', '2026-12-03', '2026-11', '2026-12'];
          await expectRebuilt(store, workspace, periods);
        }),
        { numRuns: Number(process.env.PERDURE_PROPERTY_RUNS ?? 25), interruptAfterTimeLimit: 20_000 },
      );
    });
  });
