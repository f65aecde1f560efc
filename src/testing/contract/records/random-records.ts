import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CallRecord, NewEvent, SessionKey, Store, StoredEvent } from '../../../core/ports/store.ts';
import { decodePayload } from '../../../core/session/events/event-codec.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { event, message } from '../log/new-events.ts';
import { forkSession, mustAppend, mustHead, openSession, readAll } from '../log/session-log.ts';
import { answered, called, committed, completed, failed, runWriter } from './record-events.ts';
import { callsOf, commitsOf, within } from './record-pages.ts';

const runs = Number(process.env.PERDURE_PROPERTY_RUNS ?? 25);
const searchMs = Math.max(20_000, runs * 800);

const paths = ['/facts/a', '/facts/a/b', '/facts/ab', '/plan/a', '/plan'];
const tools = ['bash', 'edit'];

type Step =
  | { readonly kind: 'append'; readonly on: number; readonly late: number; readonly events: readonly NewEvent[] }
  | { readonly kind: 'fork'; readonly on: number; readonly at: number };

const callId = fc.constantFrom('x', 'y');
const newEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  fc
    .record({
      touched: fc.uniqueArray(fc.constantFrom(...paths), { minLength: 1, maxLength: 3 }),
      tool: fc.constantFrom(...tools),
      lifts: fc.boolean(),
    })
    .map(({ touched, tool, lifts }) =>
      lifts ? committed([], { origin: { kind: 'lift', paths: touched } }) : committed(touched, { tool }),
    ),
  fc.tuple(callId, fc.constantFrom(...tools)).map(([id, tool]) => called(id, { tool })),
  callId.map((id) => completed(id)),
  callId.map((id) => failed(id)),
  fc.nat(9).map((inputTokens) => answered({ inputTokens, outputTokens: 1, usd: 0.1 }, { member: 'mia' })),
  fc.constant(message('m', 'next')),
  fc.constant(event('session.described', { title: 'again' })),
);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('append' as const),
        on: fc.nat(),
        late: fc.nat(3),
        events: fc.array(newEvent, { minLength: 1, maxLength: 6 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('fork' as const), on: fc.nat(), at: fc.nat() }) },
  ),
  { minLength: 1, maxLength: 20, size: 'max' },
);

const runSteps = async (setup: ContractSetup, workspace: WorkspaceId, all: readonly Step[]) => {
  const keys = [newKey(workspace), newKey(workspace)];
  for (const key of keys) await openSession(setup.store, key);
  for (const [place, step] of all.entries()) {
    const store = place % 2 === 0 ? setup.store : setup.other;
    const key = keys[step.on % keys.length]!;
    if (step.kind === 'append') {
      const events = step.events as readonly [NewEvent, ...NewEvent[]];
      await mustAppend(store, key, events, { writer: runWriter, at: 2_000 + place - step.late });
    } else {
      const { seq } = await mustHead(store, key);
      keys.push(newKey(workspace));
      await forkSession(store, key, (step.at % seq) + 1, keys.at(-1)!, { at: 2_000 + place });
    }
  }
  return keys;
};

/** Page sizes to try. */
const pages = [3];

interface Range {
  readonly from: number;
  readonly to: number;
}

const touches = (stored: StoredEvent, prefix: string): boolean => {
  if (stored.type !== 'state.committed') return false;
  const { delta, origin } = decodePayload(stored, 'state.committed');
  const touched = origin?.kind === 'lift' ? origin.paths : delta.map(({ path }) => path);
  return touched.some((path) => path.startsWith(prefix));
};

/**
 * Calls according to the events of one sequence up to `to`, newest first. The end of a call applies only in the
 * session that wrote the end.
 */
const callsIn = (own: SessionId, events: readonly StoredEvent[], { from, to }: Range) => {
  const calls: { session: string; seq: number; callId: string; status: CallRecord['status']; endedSeq?: number }[] = [];
  for (const each of events) {
    if (each.type === 'tool.called') {
      const { session, seq } = each;
      calls.push({ session, seq, callId: decodePayload(each, each.type).callId, status: 'running' });
    } else if (each.type === 'tool.completed' || each.type === 'tool.failed') {
      const payload = decodePayload(each, each.type);
      const open = calls.findLast(
        (call) => call.session === each.session && call.callId === payload.callId && call.endedSeq === undefined,
      );
      if (!open) continue;
      open.endedSeq = each.seq;
      open.status = 'outcome' in payload ? payload.outcome : 'ok';
    }
  }
  return calls
    .filter(({ seq }) => from <= seq && seq <= to)
    .map(({ session, seq, status, endedSeq }) => {
      const isCutOff = endedSeq === undefined ? session !== own : endedSeq > to;
      return { session, seq, status: isCutOff ? 'interrupted' : status };
    })
    .toReversed();
};

const expectSession = async (store: Store, key: SessionKey, { from, to }: Range): Promise<void> => {
  const events = await readAll(store, key);
  const range = within(key, [from, to]);
  for (const prefix of ['', '/facts/a', '/plan']) {
    const expected = events.filter((each) => from <= each.seq && each.seq <= to && touches(each, prefix));
    expect(await commitsOf(store, key.workspace, { ...range, prefix }, pages)).toEqual(expected.toReversed());
  }
  const expected = callsIn(key.session, events, { from, to });
  const answered = await callsOf(store, key.workspace, range, pages);
  expect(answered.map(({ session, seq, status }) => ({ session, seq, status }))).toEqual(expected);
  for (const wanted of ['running', 'interrupted', 'ok'] as const) {
    const found = await callsOf(store, key.workspace, { ...range, status: [wanted] }, pages);
    expect(found).toEqual(answered.filter(({ status }) => status === wanted));
  }
};

export const describeRandomRecords = (setup: ContractSetup) =>
  describe('random commits and calls', () => {
    test(
      '[QRY1, QRY2, QRY3, QRY4, FOLD5] queries find what any log contains, and its projections are rebuilt byte for byte',
      async () => {
        await fc.assert(
          fc.asyncProperty(steps, fc.nat(), fc.nat(), async (all, a, b) => {
            const workspace = newWorkspace();
            const keys = await runSteps(setup, workspace, all);
            for (const key of keys) {
              const { seq } = await mustHead(setup.store, key);
              const [from, to] = [a % seq, b % (seq + 1)].sort((x, y) => x - y) as [number, number];
              for (const range of [
                { from: 1, to: seq },
                { from, to },
              ])
                await expectSession(setup.store, key, range);
            }
            const rows = await setup.tamper.projections(workspace);
            await setup.other.rebuildProjections(workspace);
            expect(await setup.tamper.projections(workspace)).toEqual(rows);
            await setup.tamper.spoilProjections(workspace, 'unreadable');
            await setup.store.rebuildProjections(workspace);
            expect(await setup.tamper.projections(workspace)).toEqual(rows);
          }),
          { numRuns: runs, interruptAfterTimeLimit: searchMs },
        );
      },
      2 * searchMs,
    );
  });
