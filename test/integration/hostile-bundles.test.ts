import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime } from '../../src/index.ts';
import { newId } from '../../src/schema/ids.ts';
import { type MadeEvent, madeBundle, madeFork, sealedLines } from '../made-bundle.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../stores.ts';

const opened: MadeEvent = { type: 'session.opened', payload: { title: 't' } };
const saying = (text: string): string =>
  `{"message":{"id":"${newId('msg')}","role":"user","content":[{"type":"text","text":"${text}"}]}}`;
const message = (about: Partial<MadeEvent> = {}): MadeEvent => ({
  type: 'message.appended',
  turn: 1,
  opensTurn: true,
  payload: saying('hi'),
  ...about,
});
const later = (type: string, payload: unknown): readonly MadeEvent[] => [opened, message(), { type, payload, turn: 1 }];
const commit = (op: string, path: string, value?: unknown): readonly MadeEvent[] => [
  opened,
  { type: 'state.committed', payload: { delta: [{ op, path, value }], inverse: [], provenance: 'human' } },
];
const closed: MadeEvent = { type: 'session.closed', payload: {} };
const archived: MadeEvent = { type: 'session.archived', payload: {} };
const admitted: MadeEvent = {
  type: 'input.admitted',
  payload: { run: newId('run'), message: JSON.parse(saying('hi')).message, policy: 'queue' },
};
const rewound = (payload: object, about: Partial<MadeEvent> = {}): readonly MadeEvent[] => [
  opened,
  message(),
  { type: 'session.rewound', payload: { to: 1, messages: 0, agent: null, ...payload }, turn: 0, ...about },
];
const fork = { parent: newId('ses'), at: 2, midTurn: false, lastTurn: 1, messages: 1 };

const hostile: Record<string, readonly MadeEvent[]> = {
  'a payload without its fields': [opened, message({ payload: {} })],
  'a payload that is no JSON': [opened, message({ payload: 'nope' })],
  'a payload with U+0000': [opened, message({ payload: saying('a\\u0000b') })],
  'a payload with half a surrogate pair': [opened, message({ payload: saying('a\\ud800b') })],
  'a payload over 16 MiB': [opened, message({ payload: saying('z'.repeat(17 * 1024 * 1024)) })],
  'a commit that does not apply': commit('remove', '/facts/x'),
  'a commit of another prototype': commit('add', '/__proto__/x', 1),
  'a commit that leaves no facts': commit('replace', '/facts', 7),
  'a commit of a plan that is none': commit('add', '/plan/a', 7),
  'a pin without its fact that is said to be carried over': [
    opened,
    {
      type: 'state.committed',
      payload: {
        delta: [{ op: 'add', path: '/pins/a', value: true }],
        inverse: [],
        provenance: 'human',
        origin: { kind: 'carry', session: newId('ses'), seq: 1 },
      },
    },
  ],
  'a rewind to the future': later('session.rewound', { to: 50, messages: 0 }),
  'a rewind to itself': later('session.rewound', { to: 3, messages: 0 }),
  'a session that is opened twice': later('session.opened', {}),
  'a fork in the middle': later('session.forked', fork),
  'a message at the beginning': [message({ payload: {} })],
  'an archive of what is not closed': later('session.archived', {}),
  'a restoration of what is not archived': later('session.restored', {}),
  'a turn beyond all numbers': [opened, message({ turn: Number.MAX_SAFE_INTEGER })],
  'a time beyond all dates': [opened, message({ at: Number.MAX_SAFE_INTEGER })],
  'a message after the end': [opened, closed, message()],
  'a message in the archive': [opened, closed, archived, message()],
  'an input after the end': [opened, closed, admitted],
  'a commit after the end': [opened, closed, commit('add', '/facts/x', 1)[1]!],
  'a rewind that counts other messages than there were': rewound({ messages: 77 }),
  'a rewind into a turn that it does not go back to': rewound({}, { turn: 1 }),
  'a rewind into a turn that nobody opened': rewound({}, { turn: 9, opensTurn: true }),
  'a message in a turn that does not follow': [opened, message({ turn: 9 })],
  'a type of a million characters': [opened, { type: `future.${'x'.repeat(1e6)}`, payload: {} }],
  'a type with a line feed': [opened, { type: 'future.a\nb', payload: {} }],
  'a version beyond all numbers': [opened, message({ version: 3e9 })],
};

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

describe.each(storeKinds)('bundles with a valid chain on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  test.each(Object.entries(hostile))('[BUN3] %s refuses the whole', async (_, events) => {
    const importing = runtime.sessions.import(whole(madeBundle(events).bytes));
    await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
    expect((await runtime.sessions.list()).sessions).toEqual([]);
  });

  test.each(['a\u0000b', '\ud800', '', 'x'.repeat(256)])('[BUN3, IN1] the key %j refuses the whole', async (key) => {
    const { session, bytes } = madeBundle([opened, message()]);
    const named = { session, key, bodyHash: '0'.repeat(64), seq: 2, count: 1 };
    const lines = [...bytes.toString().trim().split('\n').slice(0, -1), JSON.stringify({ key: named })];
    const importing = runtime.sessions.import(whole(sealedLines(lines)));
    await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
    expect((await runtime.sessions.list()).sessions).toEqual([]);
  });

  const forkHere = { at: 2, midTurn: false, lastTurn: 1, messages: 1 };
  test.each([
    ['messages', { messages: 5 }, {}],
    ['a highest turn', { lastTurn: 2_000_000_000 }, {}],
    ['a highest turn beyond all numbers', { lastTurn: Number.MAX_SAFE_INTEGER }, {}],
    ['a turn', {}, { turn: 0 }],
  ])('[BUN3] a fork with %s that its parent did not have refuses the whole', async (_, payload, about) => {
    const bytes = madeFork([opened, message()], { ...forkHere, ...payload }, { turn: 1, ...about });
    await expect(runtime.sessions.import(whole(bytes))).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
    expect((await runtime.sessions.list()).sessions).toEqual([]);
  });

  test('[BUN1] a fork as its parent had it, and what goes on in a paused session, are taken over', async () => {
    const { sessions } = runtime.as({ workspace: 'forks', member: 'ann' });
    const paused: MadeEvent = { type: 'session.paused', payload: {} };
    const made = [madeFork([opened, message()], forkHere, { turn: 1 }), madeBundle([opened, paused, message()]).bytes];
    for (const bytes of made) {
      for (const { session } of (await sessions.import(whole(bytes))).sessions) {
        expect(await (await sessions.get(session)).verify()).toMatchObject({ ok: true });
      }
    }
  });

  test('[BUN3, EV2] what a release to come wrote is taken over, and refused when it is read', async () => {
    const { sessions } = runtime.as({ workspace: 'newer', member: 'ann' });
    for (const newer of [message({ type: 'future.thing', payload: 'any' }), message({ version: 99, payload: '{}' })]) {
      const { session, bytes } = madeBundle([opened, newer]);
      expect((await sessions.import(whole(bytes))).sessions).toEqual([{ session, added: 2 }]);
      const copy = await sessions.get(session);
      expect(await copy.verify()).toMatchObject({ ok: true, events: 2 });
      await expect(copy.transcript()).rejects.toMatchObject({ code: 'EVENT_UNSUPPORTED' });
    }
  });

  test('[BUN1, CARRY1] what was carried over is taken over, pins with their facts', async () => {
    const source = await runtime.as({ workspace: 'source', member: 'ann' }).sessions.open();
    await source.commit((draft) => Object.assign(draft.facts, { port: 1 }), { provenance: 'unverified' });
    await source.pin('port');
    const carried = await runtime.as({ workspace: 'source', member: 'ann' }).sessions.open({ carryFrom: source.id });
    const { sessions } = runtime.as({ workspace: 'target', member: 'ann' });
    await sessions.import(carried.export());
    expect(await (await sessions.get(carried.id)).state()).toEqual(await carried.state());
  });
});
