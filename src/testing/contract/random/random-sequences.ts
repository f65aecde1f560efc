import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AppendRequest, NewEvent, SessionKey, Store } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import {
  highestTurn,
  type ModelAppend,
  type ModelSession,
  modelAppend,
  modelCreate,
  modelFork,
  payloadHash,
} from '../log/log-model.ts';
import { event, forked, idempotencyKey, message, opened } from '../log/new-events.ts';
import { expectSound, mustHead, outside, payloadOf, readAll } from '../log/session-log.ts';
import { type Operation, operations } from './random-operations.ts';

/** Raise it for a longer search. A failure prints the seed and the shortest failing sequence found. */
const runs = Number(process.env.PERDURE_PROPERTY_RUNS ?? 25);
/** Also limits the search for a shorter sequence. */
const searchMs = Math.max(20_000, runs * 800);

const requestOf = (key: SessionKey, { epoch, events, ...rest }: ModelAppend, claim = ''): AppendRequest =>
  ({
    ...key,
    ...rest,
    writer: epoch === undefined ? outside : { kind: 'run', epoch, claim },
    events: events as readonly [NewEvent, ...NewEvent[]],
  }) as AppendRequest;

/** The append for an operation on an existing session. */
const appendOf = (
  operation: Exclude<Operation, { kind: 'create' } | { kind: 'reopen' } | { kind: 'fork' }>,
  session: ModelSession,
  at: number,
): ModelAppend => {
  const head = session.events.length;
  switch (operation.kind) {
    case 'append':
      return { at, events: operation.events };
    case 'decide':
      return { at, events: operation.events, onHead: head + operation.offHead };
    case 'run': {
      const onHead = operation.offHead === undefined ? undefined : head + operation.offHead;
      return { at, events: operation.events, epoch: session.epoch + operation.offEpoch, onHead };
    }
    case 'claim':
      return { at, events: [message('claim')], raisesEpoch: true };
    case 'keyed':
      return { at, events: [message(operation.body)], key: idempotencyKey(operation.key, operation.body) };
    case 'pause':
      return { at, events: [event('session.paused', {})], whileStatus: operation.whileStatus };
    case 'resume':
      return { at, events: [event('session.resumed', {})], whileStatus: operation.whileStatus };
    case 'rewind': {
      const to = (operation.at % head) + 1;
      const rewound = event('session.rewound', { to, messages: 0 }, session.events[to - 1]!.turn);
      return { at, events: [rewound], onHead: head, raisesEpoch: true };
    }
  }
};

const forkOf = (session: ModelSession, seq: number, at: number): ModelAppend => {
  const { turn } = session.events[seq - 1]!;
  const about = { lastTurn: highestTurn(session, seq), messages: 1 };
  return { at, events: [{ ...forked(session.key, seq, about), turn }] };
};

/** Runs the operations on the store and on the model, and compares every outcome. */
const runOperations = async (
  setup: ContractSetup,
  workspace: WorkspaceId,
  sequence: readonly Operation[],
): Promise<readonly ModelSession[]> => {
  const sessions: ModelSession[] = [];
  let stores = [setup.store, setup.other];
  let reopened: (typeof stores)[number] | undefined;
  const create = async (session: ModelSession, creation: ModelAppend, creates: AppendRequest['creates']) => {
    const outcome = await stores[0]!.append({ ...requestOf(session.key, creation), creates: creates ?? {} });
    expect(outcome).toMatchObject({ outcome: 'appended', head: { seq: session.events.length } });
    sessions.push(session);
  };
  for (const [step, operation] of sequence.entries()) {
    // Clocks of writers differ, so some steps are behind.
    const at = 1_000 + step * 10 - (step % 3 === 0 ? 25 : 0);
    const session = 'on' in operation ? sessions[operation.on % sessions.length] : undefined;
    // Each step uses the other store, as if in another process.
    stores = stores.toReversed();
    if (operation.kind === 'reopen') {
      await reopened?.close();
      reopened = await setup.open();
      stores = [setup.store, reopened];
    } else if (operation.kind === 'create' || !session) {
      const creation = { at, events: [opened({ title: `${step}` })] };
      await create(modelCreate(newKey(workspace), creation), creation, {});
    } else if (operation.kind === 'fork') {
      const seq = (operation.at % session.events.length) + 1;
      const creation = forkOf(session, seq, at);
      const parent = { session: session.key.session, seq };
      await create(modelFork(newKey(workspace), session, seq, creation), creation, { parent });
    } else {
      const request = appendOf(operation, session, at);
      const expected = modelAppend(session, request);
      const claim = request.epoch === undefined ? undefined : (await mustHead(stores[1]!, session.key)).claim;
      const outcome = await stores[0]!.append(requestOf(session.key, request, claim));
      const actual = outcome.outcome === 'appended' ? { outcome: 'appended', seq: outcome.head.seq } : outcome;
      expect(actual).toEqual(expected);
    }
  }
  await reopened?.close();
  return sessions;
};

const expectAsModel = async (store: Store, session: ModelSession, pageSize: number): Promise<void> => {
  const events = await expectSound(store, session.key);
  const actual = (await readAll(store, session.key, pageSize)).map((each) => ({
    session: each.session,
    at: each.at,
    turn: each.turn,
    opensTurn: each.opensTurn,
    type: each.type,
    payloadHash: payloadHash(payloadOf(each)),
  }));
  expect(actual).toEqual(session.events);
  const backwards = await store.read(session.key, { limit: events.length, order: 'descending' });
  expect(backwards.toReversed()).toEqual(events);
  const head = await mustHead(store, session.key);
  expect({ root: head.root, epoch: head.epoch, seq: head.seq, parent: head.parent }).toEqual({
    root: session.root,
    epoch: session.epoch,
    seq: session.events.length,
    parent: session.parent,
  });
  const { turn } = session.events.at(-1)!;
  expect(head.summary).toMatchObject({ status: session.status, turn, lastTurn: session.lastTurn });
  const starts = session.events.flatMap((each, i) => (each.opensTurn ? [{ turn: each.turn, seq: i + 1 }] : []));
  expect(await store.turnStarts(session.key, { from: 0, limit: 1_000 })).toEqual(starts);
  const keys = [...session.keys].map(([key, rest]) => ({ key, ...rest }));
  expect((await store.keys(session.key)).toSorted((a, b) => a.seq - b.seq)).toEqual(keys);
};

const expectWorkspace = async (store: Store, workspace: WorkspaceId, sessions: readonly ModelSession[]) => {
  const listed = (await store.list(workspace, { limit: 1_000 })).sessions;
  expect(listed.map(({ id }) => id).sort()).toEqual(sessions.map(({ key }) => key.session).sort());
  for (const summary of listed) {
    expect(summary).toEqual((await mustHead(store, { workspace, session: summary.id })).summary);
  }
  for (const { key, root } of sessions) {
    const relatives = sessions.filter((each) => each.root === root).map((each) => each.key.session);
    expect((await store.family(key)).map(({ session }) => session).sort()).toEqual(relatives.sort());
  }
};

export const describeRandomSequences = (setup: ContractSetup) =>
  describe('random sequences', () => {
    test(
      '[LOG1, LOG4, LOG6, LOG9, HASH1, WR1, KEY1, FOLD5, FORK1, FORK2] any sequence of operations has the same results as a simple model of the log',
      async () => {
        await fc.assert(
          fc.asyncProperty(operations, fc.integer({ min: 1, max: 9 }), async (sequence, pageSize) => {
            const workspace = newWorkspace();
            const sessions = await runOperations(setup, workspace, sequence);
            for (const session of sessions) await expectAsModel(setup.store, session, pageSize);
            await expectWorkspace(setup.store, workspace, sessions);
          }),
          { numRuns: runs, interruptAfterTimeLimit: searchMs },
        );
      },
      2 * searchMs,
    );
  });
