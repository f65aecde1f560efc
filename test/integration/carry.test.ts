import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { rememberTool } from '../../src/tools/index.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { runtimePlace } from '../support/stores/runtime-places.ts';
import { storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});
const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-carry-'));
  undo.push(() => rm(folder, { recursive: true }));
  return folder;
};

describe.each(storeKinds)('carryFrom on %s', (kind) => {
  const start = async () => {
    const place = await runtimePlace(kind);
    undo.push(place.remove);
    const runtime = await place.open({ data: await newFolder() });
    undo.push(() => runtime.close());
    const as = (member: string, more = {}) => runtime.as({ workspace: 'acme', member, role: 'member', ...more });
    return { runtime, as };
  };

  test('[CARRY1, CARRY2, CARRY4] carries open actions and artifacts and, if asked, files, in one append', async () => {
    const { as } = await start();
    const ann = as('ann');
    const source = await ann.sessions.open();
    await source.append({ role: 'user', content: 'Hello' });
    await source.commit(
      (draft) => {
        draft.facts.rumour = 1;
        draft.pendingActions.ask = { what: 'ask Ann', status: 'open' };
        draft.pendingActions.done = { what: 'push', status: 'settled', outcome: 'pushed' };
      },
      { provenance: 'unverified' },
    );
    await source.commit((draft) => {
      draft.progress.half = { note: 'half way' };
    });
    await source.files.write('src/a.txt', 'one');
    await source.artifacts.keep('report', 'text');
    const plain = await ann.sessions.open({ carryFrom: source.id });
    expect(await plain.files.list()).toEqual([]);
    const next = await ann.sessions.open({ carryFrom: { session: source, files: true } });
    await source.files.write('src/a.txt', 'two');
    expect(Buffer.from(await next.files.read('src/a.txt')).toString()).toBe('one');
    for (const session of [plain, next]) {
      const { pendingActions, facts, progress, filesModified } = await session.state();
      expect(pendingActions).toEqual({ ask: { what: 'ask Ann', status: 'open' } });
      expect([facts, progress, filesModified]).toEqual([{ rumour: 1 }, { half: { note: 'half way' } }, {}]);
      expect(Buffer.from(await session.artifacts.read('report')).toString()).toBe('text');
      const { commits } = await session.commits();
      expect(commits).toMatchObject([
        {
          provenance: 'unverified',
          entryProvenance: {
            '/facts/rumour': 'unverified',
            '/pendingActions/ask': 'unverified',
            '/progress/half': 'human',
          },
          origin: { kind: 'carry', session: source.id },
        },
      ]);
      expect((await session.context()).system).toContain('- ask: ask Ann (unverified)');
    }
    const blobs = async (session: typeof next) =>
      (await Array.fromAsync(session.events())).flatMap((event) =>
        event.type === 'artifact.kept' ? [event.payload.blob] : [],
      );
    expect(await blobs(next)).toEqual(await blobs(source));
    const types = (await Array.fromAsync(next.events())).map(({ type }) => type);
    expect(types).toEqual(['session.opened', 'state.committed', 'files.snapshotted', 'artifact.kept']);
    expect(await next.verify()).toMatchObject({ ok: true });
  });

  test('[CARRY3] needs sight of the other session, and the area files for its files', async () => {
    const { as } = await start();
    const source = await as('ann').sessions.open({ visibility: 'private' });
    await source.files.write('a.txt', 'mine');
    const bob = as('bob');
    for (const carryFrom of [source.id, { session: source.id, files: true }]) {
      await expect(bob.sessions.open({ carryFrom })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    }
    const keyed = as('ann', { areas: ['sessions'] });
    await expect(keyed.sessions.open({ carryFrom: { session: source.id, files: true } })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      details: { area: 'files' },
    });
    expect(await (await keyed.sessions.open({ carryFrom: source.id })).state()).toMatchObject({ facts: {} });
    expect((await bob.sessions.list()).sessions).toHaveLength(1);
  });

  test('[CARRY2] refuses other files beside carried ones, and options that are no session', async () => {
    const { as } = await start();
    const ann = as('ann');
    const source = await ann.sessions.open();
    const wrong = { code: 'INVALID_INPUT' };
    const carryFrom = { session: source, files: true };
    await expect(ann.sessions.open({ carryFrom, files: { from: await newFolder() } })).rejects.toMatchObject(wrong);
    for (const each of [{ session: 'x' }, { files: true }, { session: source.id, file: true }, 7]) {
      await expect(ann.sessions.open({ carryFrom: each as never })).rejects.toMatchObject(wrong);
    }
    expect((await ann.sessions.list()).sessions).toHaveLength(1);
    expect(await (await ann.sessions.open({ carryFrom })).files.list()).toEqual([]);
  });

  test('[CARRY2] the members who changed the carried files count as contributors of the new session', async () => {
    const { as } = await start();
    const source = await as('ann').sessions.open();
    await (await as('bob').sessions.get(source.id)).files.write('a.txt', 'mine');
    const next = await as('ann').sessions.open({ carryFrom: { session: source.id, files: true } });
    const snapshots = (await Array.fromAsync(next.events())).filter(({ type }) => type === 'files.snapshotted');
    expect(snapshots).toMatchObject([{ payload: { contributors: expect.arrayContaining(['member:bob']) } }]);
  });
});

test('[CARRY4] a crash at any write while a session is opened leaves no part of it', async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database), worker: false });
  undo.push(() => runtime.close());
  const source = await runtime.sessions.open();
  await source.commit((draft) => Object.assign(draft.facts, { port: 1 }));
  await source.files.write('a.txt', 'one');
  await source.artifacts.keep('report', 'text');
  const store = openMemoryStore(database);
  let appends = 0;
  const dying = overrideStore(store, {
    append: async (request) => {
      appends += 1;
      throw new Error(`killed before append of ${request.events.length} events`);
    },
  });
  const other = await openRuntime({ store: dying, worker: false });
  undo.push(() => other.close());
  const opening = other.sessions.open({ carryFrom: { session: source.id, files: true } });
  await expect(opening).rejects.toThrow('killed before append of 4 events');
  expect(appends).toBe(1);
  expect((await runtime.sessions.list()).sessions).toHaveLength(1);
});

test('[CARRY5] the description of remember says how long a fact lasts', () => {
  const { description } = rememberTool;
  expect(description).toContain('as long as this session, in its forks too');
  expect(description).toContain('only if it is opened with carryFrom');
});
