import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashOf } from '../../src/core/files/tree.ts';
import { openRuntime, type Runtime } from '../../src/index.ts';
import { newId } from '../../src/schema/ids.ts';
import { type MadeEvent, madeBlob, madeBundle, madeFork, sealedLines } from '../support/stores/made-bundle.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

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
  'a payload that is not JSON': [opened, message({ payload: 'nope' })],
  'a payload with U+0000': [opened, message({ payload: saying('a\\u0000b') })],
  'a payload with a lone surrogate': [opened, message({ payload: saying('a\\ud800b') })],
  'a payload over 16 MiB': [opened, message({ payload: saying('z'.repeat(17 * 1024 * 1024)) })],
  'a commit that does not apply': commit('remove', '/facts/x'),
  'a commit to a prototype': commit('add', '/__proto__/x', 1),
  'a commit that replaces the facts by a number': commit('replace', '/facts', 7),
  'a commit of an invalid plan': commit('add', '/plan/a', 7),
  'a carried-over pin without its fact': [
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
  'a session opened twice': later('session.opened', {}),
  'a fork in the middle': later('session.forked', fork),
  'a message at the beginning': [message({ payload: {} })],
  'an archived event for a session that is not closed': later('session.archived', {}),
  'a restored event for a session that is not archived': later('session.restored', {}),
  'a turn number beyond the limit': [opened, message({ turn: Number.MAX_SAFE_INTEGER })],
  'a time beyond the range of dates': [opened, message({ at: Number.MAX_SAFE_INTEGER })],
  'a message after the session was closed': [opened, closed, message()],
  'a message after the session was archived': [opened, closed, archived, message()],
  'an input after the session was closed': [opened, closed, admitted],
  'a commit after the session was closed': [opened, closed, commit('add', '/facts/x', 1)[1]!],
  'a rewind with a wrong message count': rewound({ messages: 77 }),
  'a rewind whose turn is not the one it goes back to': rewound({}, { turn: 1 }),
  'a rewind into a turn that was never opened': rewound({}, { turn: 9, opensTurn: true }),
  'a message in a turn that is out of order': [opened, message({ turn: 9 })],
  'a type of a million characters': [opened, { type: `future.${'x'.repeat(1e6)}`, payload: {} }],
  'a type with a line feed': [opened, { type: 'future.a\nb', payload: {} }],
  'a version beyond the limit': [opened, message({ version: 3e9 })],
};

const content = Buffer.from('content');
const file = madeBlob('content', content);
const treeBytes = (rows: readonly unknown[]): Buffer => Buffer.from(`perdure.tree.1\n${JSON.stringify(rows)}`);
const row = (name: string, size = content.length) => [name, 'file', 0o644, hashOf(content), size];
const tree = (...rows: readonly unknown[]) => madeBlob('tree', treeBytes(rows));
const treeHash = (...rows: readonly unknown[]) => hashOf(treeBytes(rows));
const snapshotted = (hash: string): readonly MadeEvent[] => {
  const changed = { created: 1, modified: 0, deleted: 0, renamed: 0 };
  return [opened, { type: 'files.snapshotted', payload: { tree: hash, changed, leftOut: {} } }];
};
const kept = (size: number): readonly MadeEvent[] => [
  opened,
  { type: 'artifact.kept', payload: { name: 'a', mediaType: 'text/plain', size, blob: hashOf(content) } },
];
const named = snapshotted(treeHash(row('a')));

/** Trees that each contain the previous one twice, so that a few lines describe more files than any disk holds. */
const manyFiles = (depth: number): { lines: readonly string[]; hash: string } => {
  let below = treeBytes([row('a')]);
  const lines = [...file, ...madeBlob('tree', below)];
  for (let level = 0; level < depth; level++) {
    const folder = (name: string) => [name, 'folder', 0o755, hashOf(below)];
    below = treeBytes([folder('a'), folder('b')]);
    lines.push(...madeBlob('tree', below));
  }
  return { lines, hash: hashOf(below) };
};

/** Nested folders, each with a name of 200 characters. */
const deepFolders = (depth: number): { lines: readonly string[]; hash: string } => {
  let below = treeBytes([row('a')]);
  const lines = [...file, ...madeBlob('tree', below)];
  for (let level = 0; level < depth; level++) {
    below = treeBytes([['n'.repeat(200), 'folder', 0o755, hashOf(below)]]);
    lines.push(...madeBlob('tree', below));
  }
  return { lines, hash: hashOf(below) };
};

const swapped = Buffer.from('c0ntent');
const hostileFiles: Record<string, readonly [events: readonly MadeEvent[], blobs: readonly string[]]> = {
  'no tree': [named, file],
  'no content': [named, tree(row('a'))],
  'a tree before its content': [named, [...tree(row('a')), ...file]],
  'a tree before a tree that it names': [
    snapshotted(treeHash(['f', 'folder', 0o755, treeHash(row('a'))])),
    [...file, ...tree(['f', 'folder', 0o755, treeHash(row('a'))]), ...tree(row('a'))],
  ],
  'a content that does not match its hash': [
    named,
    [...madeBlob('content', swapped, { hash: hashOf(content) }), ...tree(row('a'))],
  ],
  'a tree that does not match its hash': [
    named,
    [...file, ...madeBlob('tree', treeBytes([row('b')]), { hash: treeHash(row('a')) })],
  ],
  'two swapped contents': [
    snapshotted(treeHash(row('a'))),
    [
      ...madeBlob('content', swapped, { hash: hashOf(content) }),
      ...madeBlob('content', content, { hash: hashOf(swapped) }),
      ...tree(row('a')),
    ],
  ],
  'a content shorter than declared': [
    named,
    [...madeBlob('content', content, { size: content.length + 1 }), ...tree(row('a'))],
  ],
  'a content longer than declared': [
    named,
    [...madeBlob('content', content, { size: content.length - 1 }), ...tree(row('a'))],
  ],
  'a content whose size differs from its tree': [snapshotted(treeHash(row('a', 3))), [...file, ...tree(row('a', 3))]],
  'a content declared larger than any memory': [named, madeBlob('content', content, { size: 1e15 })],
  'a content that is announced but missing': [named, file.slice(0, 1)],
  'bytes that belong to no blob': [named, file.slice(1)],
  'an empty piece of bytes': [named, [file[0]!, JSON.stringify({ piece: '' }), file[1]!, ...tree(row('a'))]],
  'a duplicated blob': [named, [...file, ...file, ...tree(row('a'))]],
  'an empty blob header': [named, [JSON.stringify({ blob: {} }), ...file, ...tree(row('a'))]],
  'a content in place of a tree': [snapshotted(hashOf(content)), file],
  'a tree declared as a content': [named, [...file, ...madeBlob('content', treeBytes([row('a')]))]],
  'an artifact without its content': [kept(content.length), []],
  'an artifact of another size': [kept(1), file],
  'more files than any disk holds': [snapshotted(manyFiles(40).hash), manyFiles(40).lines],
  'a path longer than the limit': [snapshotted(deepFolders(30).hash), deepFolders(30).lines],
  ...Object.fromEntries(
    [
      ['that leads to the parent folder', [row('..')]],
      ['that contains a slash', [row('a/b')]],
      ['that is absolute', [row('/etc')]],
      ['with an empty name', [row('')]],
      ["of the runtime's own folder", [['.PERDURE', 'folder', 0o755, hashOf(treeBytes([]))]]],
      ['with a set-user bit', [['a', 'file', 0o4755, hashOf(content), content.length]]],
      ['with a duplicate name', [row('a'), row('a')]],
      ['out of order', [row('b'), row('a')]],
      ['with an unknown kind', [['a', 'device', 1]]],
      ['with an empty link target', [['a', 'link', '']]],
    ].map(([what, rows]) => [
      `a tree ${what}`,
      [snapshotted(treeHash(...(rows as unknown[]))), [...file, ...tree(...(rows as unknown[]))]] as const,
    ]),
  ),
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

  test.each(Object.entries(hostile))(
    '[BUN3, BUN7, BUN8] a bundle with %s is rejected as a whole',
    async (_, events) => {
      const importing = runtime.sessions.import(whole(madeBundle(events).bytes));
      await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      expect((await runtime.sessions.list()).sessions).toEqual([]);
    },
  );

  test.each(Object.entries(hostileFiles))(
    '[BUN4, BUN10] a bundle whose files have %s is rejected as a whole',
    async (_, [events, blobs]) => {
      const { sessions } = runtime.as({ workspace: 'hostile-files', member: 'ann', role: 'admin' });
      const importing = sessions.import(whole(madeBundle(events, blobs).bytes));
      await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      expect((await sessions.list()).sessions).toEqual([]);
      const { garbage, young } = await runtime
        .as({ workspace: 'hostile-files', member: 'ann', role: 'admin' })
        .gc({ dryRun: true });
      expect([garbage.blobs, young.blobs]).toEqual([0, 0]);
    },
  );

  test('[BUN4] a bundle with a blob after the events is rejected as a whole', async () => {
    const lines = madeBundle([opened, message()]).bytes.toString().trim().split('\n').slice(0, -1);
    const importing = runtime.sessions.import(whole(sealedLines([...lines, ...file])));
    await expect(importing).rejects.toMatchObject({
      code: 'BUNDLE_INVALID',
      message: expect.stringContaining('comes after the events'),
    });
  });

  test('[BUN4, FILE1] well-formed files, folders, links, an empty tree and an artifact are imported', async () => {
    const { sessions } = runtime.as({ workspace: 'good-files', member: 'ann', role: 'admin' });
    const rows = [
      ['e', 'folder', 0o700, hashOf(treeBytes([]))],
      ['f', 'folder', 0o755, treeHash(row('a'))],
      ['l', 'link', '/etc'],
    ];
    const made = [
      madeBundle(snapshotted(treeHash(...rows)), [...file, ...tree(row('a')), ...tree(...rows)]),
      madeBundle(snapshotted(hashOf(treeBytes([])))),
      madeBundle(kept(content.length), file),
      madeBundle(snapshotted(manyFiles(10).hash), manyFiles(10).lines),
      madeBundle(snapshotted(deepFolders(19).hash), deepFolders(19).lines),
    ];
    for (const { session, bytes } of made) {
      await sessions.import(whole(bytes));
      expect(await (await sessions.get(session)).verify()).toMatchObject({ ok: true, events: 2 });
    }
  });

  test.each(['a\u0000b', '\ud800', '', 'x'.repeat(256)])(
    '[BUN7, IN1] a bundle with the key %j is rejected as a whole',
    async (key) => {
      const { session, bytes } = madeBundle([opened, message()]);
      const named = { session, key, bodyHash: '0'.repeat(64), seq: 2, count: 1 };
      const lines = [...bytes.toString().trim().split('\n').slice(0, -1), JSON.stringify({ key: named })];
      const importing = runtime.sessions.import(whole(sealedLines(lines)));
      await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      expect((await runtime.sessions.list()).sessions).toEqual([]);
    },
  );

  const forkHere = { at: 2, midTurn: false, lastTurn: 1, messages: 1 };
  test.each([
    ['messages', { messages: 5 }, {}],
    ['a highest turn', { lastTurn: 2_000_000_000 }, {}],
    ['a highest turn beyond the limit', { lastTurn: Number.MAX_SAFE_INTEGER }, {}],
    ['a turn', {}, { turn: 0 }],
  ])(
    '[BUN8] a fork with %s that its parent did not have causes the whole bundle to be rejected',
    async (_, payload, about) => {
      const bytes = madeFork([opened, message()], { ...forkHere, ...payload }, { turn: 1, ...about });
      await expect(runtime.sessions.import(whole(bytes))).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      expect((await runtime.sessions.list()).sessions).toEqual([]);
    },
  );

  test('[BUN1] a fork that matches its parent, and events in a paused session, are imported', async () => {
    const { sessions } = runtime.as({ workspace: 'forks', member: 'ann', role: 'admin' });
    const paused: MadeEvent = { type: 'session.paused', payload: {} };
    const made = [madeFork([opened, message()], forkHere, { turn: 1 }), madeBundle([opened, paused, message()]).bytes];
    for (const bytes of made) {
      for (const { session } of (await sessions.import(whole(bytes))).sessions) {
        expect(await (await sessions.get(session)).verify()).toMatchObject({ ok: true });
      }
    }
  });

  test('[BUN9, EV2] events of a future release are imported, and rejected when they are read', async () => {
    const { sessions } = runtime.as({ workspace: 'newer', member: 'ann', role: 'admin' });
    for (const newer of [message({ type: 'future.thing', payload: 'any' }), message({ version: 99, payload: '{}' })]) {
      const { session, bytes } = madeBundle([opened, newer]);
      expect((await sessions.import(whole(bytes))).sessions).toEqual([{ session, added: 2 }]);
      const copy = await sessions.get(session);
      expect(await copy.verify()).toMatchObject({ ok: true, events: 2 });
      await expect(copy.transcript()).rejects.toMatchObject({ code: 'EVENT_UNSUPPORTED' });
    }
  });

  test('[BUN1, CARRY1] carried-over state is imported, including pins with their facts', async () => {
    const source = await runtime.as({ workspace: 'source', member: 'ann', role: 'admin' }).sessions.open();
    await source.commit((draft) => Object.assign(draft.facts, { port: 1 }), { provenance: 'unverified' });
    await source.pin('port');
    const carried = await runtime
      .as({ workspace: 'source', member: 'ann', role: 'admin' })
      .sessions.open({ carryFrom: source.id });
    const { sessions } = runtime.as({ workspace: 'target', member: 'ann', role: 'admin' });
    await sessions.import(carried.export());
    expect(await (await sessions.get(carried.id)).state()).toEqual(await carried.state());
  });
});
