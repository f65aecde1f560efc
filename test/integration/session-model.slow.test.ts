import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SessionFolds } from '../../src/core/engine/session-folds.ts';
import type { SessionKey, Store } from '../../src/core/ports/store.ts';
import { decodeEvent } from '../../src/core/session/events/event-codec.ts';
import { fold, type SessionFold } from '../../src/core/session/fold.ts';
import { applyDelta } from '../../src/core/session/state/state-change.ts';
import { summarize } from '../../src/core/session/summary.ts';
import {
  defineAgent,
  type OwnState,
  openRuntime,
  type Runtime,
  type Session,
  type ShownState,
  type State,
} from '../../src/index.ts';
import { type Provenance, provenances } from '../../src/schema/state.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { newStorePlace, type StoreKind, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const openStore: Record<StoreKind, (address: string) => Promise<Store>> = {
  sqlite: (address) => openSqliteStore({ file: address.slice('sqlite:'.length) }),
  postgres: (url) => openPostgresStore({ url }),
};

/** The reference model of a session: its visible messages, and those visible after each event of the log. */
interface Model {
  readonly session: Session<OwnState>;
  seen: readonly string[];
  readonly after: Map<number, readonly string[]>;
  readonly states: Map<number, State>;
}

const counts = z.record(z.string(), z.number());
const agents = [
  defineAgent({ name: 'model', version: 1, state: counts, migrate: (own) => own as Record<string, number> }),
  defineAgent({
    name: 'model',
    version: 2,
    state: counts.describe('with the moves'),
    migrate: (own) => ({ ...(own as Record<string, number>), moves: Object.keys(own).length }),
  }),
] as const;

type Step =
  | { readonly do: 'talk'; readonly who: number; readonly messages: number }
  | { readonly do: 'fork' | 'rewind'; readonly who: number; readonly where: number }
  | { readonly do: 'commit'; readonly who: number; readonly id: string; readonly value: Value; readonly as: Provenance }
  | { readonly do: 'pin' | 'track'; readonly who: number; readonly id: string }
  | { readonly do: 'revert' | 'adopt' | 'bind'; readonly who: number; readonly which: number }
  | { readonly do: 'compact'; readonly who: number }
  | { readonly do: 'restart' };
type StateStep = Exclude<Step, { readonly do: 'talk' | 'fork' | 'rewind' | 'restart' }>;
type Value = number | readonly number[] | Readonly<Record<string, number>> | undefined;

const who = fc.nat({ max: 7 });
const where = fc.nat({ max: 1000 });
const which = fc.nat({ max: 9 });
const id = fc.constantFrom('a', 'b', 'c');
const value: fc.Arbitrary<Value> = fc.oneof(
  fc.nat({ max: 3 }),
  fc.array(fc.nat({ max: 3 }), { maxLength: 4 }),
  fc.dictionary(id, fc.nat({ max: 3 }), { maxKeys: 3 }),
  fc.constant(undefined),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('commit' as const), who, id, value, as: fc.constantFrom(...provenances) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('pin' as const, 'track' as const), who, id }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('revert' as const, 'adopt' as const, 'bind' as const), who, which }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('compact' as const), who }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('talk' as const), who, messages: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fork' as const), who, where }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rewind' as const), who, where }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
);

const textsOf = async (session: Session<OwnState>, seq?: number): Promise<string[]> =>
  (await session.transcript(seq === undefined ? {} : { at: { seq } })).entries.flatMap(({ message }) =>
    message.content.map((part) => ('text' in part ? part.text : part.type)),
  );

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** Returns the error code if the work fails with `code`; any other failure fails the test. */
const mayFail = async (code: string, work: Promise<unknown>): Promise<string | undefined> => {
  try {
    await work;
  } catch (error) {
    if ((error as { code?: string }).code !== code) throw error;
    return code;
  }
  return undefined;
};

const withoutCounters = ({ toolsUsed: _, waiting: __, ...rest }: ShownState) => plain(rest);

const revertSome = async (session: Session<OwnState>, which: number): Promise<void> => {
  const commits = (await session.commits()).commits;
  const commit = commits[which % (commits.length || 1)];
  if (!commit) return;
  const refused = await mayFail('REVERT_CONFLICT', session.revert(commit.seq));
  if (commit !== commits[0]) return;
  expect(refused).toBeUndefined();
  const earlier = await session.state({ at: { seq: commit.seq - 1 } });
  expect(withoutCounters(await session.state())).toEqual(withoutCounters(earlier));
};

const changeState = async (each: StateStep, { session }: Model, others: readonly Model[]): Promise<void> => {
  switch (each.do) {
    case 'commit': {
      const change = session.commit(
        (draft) => {
          if (each.value === undefined) delete draft.facts[each.id];
          else draft.facts[each.id] = each.value as never;
          if (typeof each.value === 'number') draft.own[each.id] = each.value;
        },
        { provenance: each.as },
      );
      await mayFail('STATE_INVALID', change);
      return;
    }
    case 'pin':
      await mayFail('STATE_INVALID', session.pin(each.id));
      return;
    case 'track': {
      const files = () => ({ [each.id]: 'modified' as const });
      await (await session.track({ edit: async () => each.id }, { edit: { files, effects: 'idempotent' } })).edit();
      return;
    }
    case 'revert':
      return revertSome(session, each.which);
    case 'adopt':
      await session.adopt(others[each.which % others.length]!.session, {
        onConflict: each.which % 2 ? 'ours' : 'theirs',
      });
      return;
    case 'bind':
      await session.bind(agents[each.which % agents.length]!);
      return;
    case 'compact':
      await session.compact({ keepTurns: 1 });
  }
};

/** Folds from the first event without any snapshot, and keeps the state after each event for rewinds. */
const foldWhole = async (store: Store, key: SessionKey): Promise<readonly SessionFold[]> => {
  const states: SessionFold[] = [];
  for (const stored of await store.read(key, { limit: 10_000 })) {
    const event = decodeEvent(key.workspace, stored);
    const target = event.type === 'session.rewound' ? states[event.payload.to - 1] : undefined;
    states.push(fold(states.at(-1), event, target));
  }
  return states;
};

describe.each(storeKinds)('random sessions on %s', (kind) => {
  let place: StorePlace;
  let store: Store;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    store = await openStore[kind](place.address);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });

  const checkAgainstLog = async (key: SessionKey, session: Session) => {
    const whole = await foldWhole(store, key);
    const cold = new SessionFolds(store, { everyEvents: 4, everyBytes: 1e9 }, (problem) => {
      throw problem;
    });
    for (const state of whole) expect(plain(await cold.at(key, state.seq))).toEqual(plain(state));
    await cold.settle();
    const own = (await store.read(key, { limit: 10_000 })).filter((event) => event.session === key.session);
    expect(await session.summary()).toEqual(own.reduce(summarize, undefined as never));
    const { seq, turn, lastTurn, status, messages } = whole.at(-1)!;
    expect(await session.summary()).toMatchObject({ seq, turn, lastTurn, status, messages });
    expect(await session.verify()).toMatchObject({ ok: true, events: whole.length });
  };

  const checkStates = async ({ session, states }: Model, root: Model) => {
    const places = [...states];
    for (const [index, [seq, state]] of places.entries()) {
      expect(plain(await session.state({ at: { seq } }))).toEqual(plain(state));
      const [later, other] = places[(index * 7 + 3) % places.length]!;
      const { patch } = await session.diff({ seq }, { seq: later });
      expect(plain(applyDelta(state, patch))).toEqual(plain(other));
    }
    const { patch } = await session.diff({ session: session.id }, { session: root.session.id });
    expect(plain(applyDelta(await session.state(), patch))).toEqual(plain(await root.session.state()));
  };

  const play = async (steps: readonly Step[], count: { workspaces: number }) => {
    const workspace = `model-${kind}-${++count.workspaces}`;
    const snapshots = { everyEvents: 3, everyBytes: 1e9 };
    const start = async (): Promise<Runtime> =>
      openRuntime({ store: place.address, snapshots, agents: [...agents], worker: false });
    let runtime = await start();
    const models: { id: string; model: Model }[] = [];
    const scoped = () => runtime.as({ workspace, member: 'ann' }).sessions;
    const add = (session: Session<OwnState>, from: Pick<Model, 'seen' | 'after' | 'states'>, seq: number) => {
      const after = new Map([...from.after].filter(([each]) => each < seq));
      after.set(seq, from.seen);
      const states = new Map([...from.states].filter(([each]) => each < seq));
      models.push({ id: session.id, model: { session, seen: from.seen, after, states } });
    };
    const root = await scoped().open({ agent: agents[0] });
    add(root, { seen: [], after: new Map(), states: new Map() }, (await root.summary()).seq);
    let said = 0;
    for (const each of steps) {
      if (each.do === 'restart') {
        await runtime.close();
        runtime = await start();
        for (const entry of models) entry.model = { ...entry.model, session: await scoped().get(entry.id) };
        continue;
      }
      const { model } = models[each.who % models.length]!;
      const points = [...model.after.keys()];
      if (each.do !== 'talk' && !('where' in each)) {
        await changeState(
          each,
          model,
          models.map((other) => other.model),
        );
        const { seq } = await model.session.summary();
        model.after.set(seq, model.seen);
        model.states.set(seq, await model.session.state());
      } else if (each.do === 'talk') {
        const texts = Array.from({ length: each.messages }, () => `message ${++said}`);
        const roles = texts.map((_, index) => (index % 2 ? 'assistant' : 'user') as 'user' | 'assistant');
        if (roles.length % 2) roles[roles.length - 1] = 'assistant';
        const events = await model.session.append(texts.map((content, index) => ({ role: roles[index]!, content })));
        for (const [index, { seq }] of events.entries()) {
          model.seen = [...model.seen, texts[index]!];
          model.after.set(seq, model.seen);
        }
      } else {
        const seq = points[each.where % points.length]!;
        const seen = model.after.get(seq)!;
        if (each.do === 'rewind') {
          await model.session.rewind({ to: { seq } });
          model.seen = seen;
          model.after.set((await model.session.summary()).seq, seen);
        } else {
          const fork = await model.session.fork({ at: { seq } });
          if ((await fork.summary()).status === 'paused') await fork.resume();
          const { seq: head } = await fork.summary();
          add(fork, { seen, after: model.after, states: model.states }, seq + 1);
          for (let next = seq + 1; next <= head; next++) models.at(-1)!.model.after.set(next, seen);
        }
      }
    }
    for (const { id, model } of models) {
      expect(await textsOf(model.session)).toEqual(model.seen);
      for (const [seq, seen] of model.after) expect(await textsOf(model.session, seq)).toEqual(seen);
      await checkStates(model, models[0]!.model);
      await checkAgainstLog({ workspace, session: id } as SessionKey, model.session);
    }
    await runtime.close();
  };

  test('[FOLD1, FOLD5, FORK1, FORK2, REW1, CTX1, STATE3, DIFF1, REV1] a fold from snapshots equals the fold of the whole log, and both equal the model', async () => {
    const count = { workspaces: 0 };
    const numRuns = Number(process.env.PERDURE_PROPERTY_RUNS ?? 6);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => play(steps, count)),
      { numRuns, endOnFailure: true },
    );
  }, 120_000);
});
