import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionKey, Store } from '../../src/core/ports/store.ts';
import { SessionFolds } from '../../src/core/service/session-folds.ts';
import { decodeEvent } from '../../src/core/session/event-codec.ts';
import { fold, type SessionFold } from '../../src/core/session/fold.ts';
import { summarize } from '../../src/core/session/summary.ts';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { newStorePlace, type StoreKind, type StorePlace, storeKinds } from '../stores.ts';

const openStore: Record<StoreKind, (address: string) => Promise<Store>> = {
  sqlite: (address) => openSqliteStore({ file: address.slice('sqlite:'.length) }),
  postgres: (url) => openPostgresStore({ url }),
};

/** What a person would keep in mind: the messages they see, and what they saw after each event of the log. */
interface Model {
  readonly session: Session;
  seen: readonly string[];
  readonly after: Map<number, readonly string[]>;
  open: boolean;
}

type Step =
  | { readonly do: 'talk'; readonly who: number; readonly messages: number }
  | { readonly do: 'fork' | 'rewind'; readonly who: number; readonly where: number }
  | { readonly do: 'restart' };

const who = fc.nat({ max: 7 });
const where = fc.nat({ max: 1000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('talk' as const), who, messages: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fork' as const), who, where }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rewind' as const), who, where }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
);

const textsOf = async (session: Session, seq?: number): Promise<string[]> =>
  (await session.transcript(seq === undefined ? {} : { at: { seq } })).flatMap(({ message }) =>
    message.content.map((part) => ('text' in part ? part.text : part.type)),
  );

/** From the first event on, without any snapshot, with the state after each event kept for the rewinds. */
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
    const plain = (state: SessionFold) => JSON.parse(JSON.stringify(state));
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

  const play = async (steps: readonly Step[], count: { workspaces: number }) => {
    const workspace = `model-${kind}-${++count.workspaces}`;
    const snapshots = { everyEvents: 3, everyBytes: 1e9 };
    const start = async (): Promise<Runtime> => openRuntime({ store: place.address, snapshots });
    let runtime = await start();
    const models: { id: string; model: Model }[] = [];
    const scoped = () => runtime.as({ workspace, member: 'ann' }).sessions;
    const add = (session: Session, from: Pick<Model, 'seen' | 'after'>, seq: number) => {
      const after = new Map([...from.after].filter(([each]) => each < seq));
      after.set(seq, from.seen);
      models.push({ id: session.id, model: { session, seen: from.seen, after, open: true } });
    };
    add(await scoped().open(), { seen: [], after: new Map() }, 1);
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
      if (each.do === 'talk') {
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
          add(fork, { seen, after: model.after }, seq + 1);
          for (let next = seq + 1; next <= head; next++) models.at(-1)!.model.after.set(next, seen);
        }
      }
    }
    for (const { id, model } of models) {
      expect(await textsOf(model.session)).toEqual(model.seen);
      for (const [seq, seen] of model.after) expect(await textsOf(model.session, seq)).toEqual(seen);
      await checkAgainstLog({ workspace, session: id } as SessionKey, model.session);
    }
    await runtime.close();
  };

  test('[FOLD1, FOLD5, FORK1, FORK2, REW1, CTX1] a fold from snapshots equals the fold of the whole log, and both what a reader remembers', async () => {
    const count = { workspaces: 0 };
    const numRuns = Number(process.env.PERDURE_PROPERTY_RUNS ?? 6);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), (steps) => play(steps, count)),
      { numRuns, endOnFailure: true },
    );
  }, 120_000);
});
