import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openRuntime, type Runtime } from '../../runtime.ts';
import { registryWorkspace, WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import { makeMasterKey, makeNextKey } from './master-key.ts';
import { newSealingKey, seal, unseal } from './seal.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const each of undo.splice(0).reverse()) await each();
});

const local = WorkspaceId.parse('local');
const newKey = (): string => randomBytes(32).toString('base64');

const dataFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-vault-'));
  undo.push(() => rm(folder, { recursive: true }));
  return folder;
};

interface Opened {
  readonly runtime: Runtime;
  readonly store: RuntimeStore;
  readonly open: (masterKey?: string) => Promise<Runtime>;
}

/** Opens any number of runtimes on one store, like several processes. */
const start = async (masterKey?: string): Promise<Opened> => {
  const database = newMemoryDatabase();
  const data = await dataFolder();
  const open = async (key?: string): Promise<Runtime> => {
    const runtime = await openRuntime({
      worker: false,
      store: openMemoryStore(database),
      data,
      ...(key !== undefined && { masterKey: key }),
    });
    undo.push(() => runtime.close());
    return runtime;
  };
  return { runtime: await open(masterKey), store: openMemoryStore(database), open };
};

const recordsOf = async (store: RuntimeStore, workspace = local) => [
  ...(await store.records(workspace, 'data-key', { limit: 10 })),
  ...(await store.records(workspace, 'secret', { limit: 10 })),
];

const storedText = async (runtime: Runtime, text: string): Promise<string> => {
  const session = await runtime.sessions.open();
  const [event] = await session.append({ role: 'user', content: text });
  return JSON.stringify(event!.payload.message.content);
};

describe('a vault', () => {
  test('[RED5] keeps the master key out of logs even while it is empty', async () => {
    const key = newKey();
    const { runtime } = await start(key);
    expect(await storedText(runtime, `it is ${key}`)).not.toContain(key);
  });

  test('[VAULT1] rejects a secret whose description contains its value', async () => {
    const { runtime } = await start(newKey());
    const refused = runtime.vault.set('github', 'ghp_0123456789', { about: 'the token ghp_0123456789' });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await runtime.vault.list()).toEqual([]);
  });

  test('[VAULT1] lists names, descriptions and times, but never a value', async () => {
    const { runtime, store } = await start(newKey());
    await runtime.vault.set('github', 'ghp_0123456789', { about: 'issues' });
    await runtime.vault.set('aws', 'aws-0123456789');
    expect(await runtime.vault.list()).toMatchObject([{ name: 'aws' }, { name: 'github', about: 'issues' }]);
    const [before] = await runtime.vault.list();
    const changed = await runtime.vault.set('aws', 'aws-9876543210');
    expect(changed.createdAt).toBe(before!.createdAt);
    expect(JSON.stringify([await runtime.vault.list(), changed, await recordsOf(store)])).not.toMatch(
      /0123456789|9876543210/,
    );
    await runtime.vault.remove('aws');
    expect(await runtime.vault.list()).toMatchObject([{ name: 'github' }]);
    await expect(runtime.vault.remove('aws')).rejects.toMatchObject({ code: 'SECRET_NOT_FOUND' });
  });

  test.each([
    ['github', ''],
    ['github', 'seven77'],
    ['github', 'a lone \ud800 half'],
    ['github-token', 'github-token'],
    ['a b', 'long enough'],
    ['', 'long enough'],
  ])('[VAULT1] %j = %j is rejected without repeating the value', async (name, value) => {
    const { runtime } = await start(newKey());
    const refused = await runtime.vault.set(name, value).catch((error: Error) => error);
    expect(refused).toMatchObject({ code: 'INVALID_INPUT' });
    if (value.length > 7 && value !== 'long enough') expect(String(refused)).not.toContain(value);
    expect(await runtime.vault.list()).toEqual([]);
  });

  test('[VAULT2] sealed content opens only with its key, for its purpose, and unchanged', () => {
    const key = newSealingKey();
    const sealed = seal(key, ['secret', 'local', 'github'], Buffer.from('value'));
    expect(unseal(key, ['secret', 'local', 'github'], sealed).toString()).toBe('value');
    expect(seal(key, ['secret', 'local', 'github'], Buffer.from('value'))).not.toBe(sealed);
    expect(() => unseal(key, ['secret', 'other', 'github'], sealed)).toThrow();
    expect(() => unseal(key, ['secret', 'local', 'gitlab'], sealed)).toThrow();
    expect(() => unseal(newSealingKey(), ['secret', 'local', 'github'], sealed)).toThrow();
    for (let at = 0; at < Buffer.from(sealed, 'base64').length; at++) {
      const changed = Buffer.from(sealed, 'base64');
      changed[at]! ^= 1;
      expect(() => unseal(key, ['secret', 'local', 'github'], changed.toString('base64'))).toThrow();
    }
    for (const cut of ['', sealed.slice(0, 8), sealed.slice(0, -4)]) {
      expect(() => unseal(key, ['secret', 'local', 'github'], cut)).toThrow();
    }
  });

  test('[VAULT2] detects a sealed secret that was copied over another one in the store', async () => {
    const masterKey = newKey();
    const { runtime, store, open } = await start(masterKey);
    await runtime.vault.set('one', 'value-of-one');
    await runtime.vault.set('two', 'value-of-two');
    const [key, one, two] = await recordsOf(store);
    await store.writeRecords(local, [
      { kind: 'secret', id: 'one', onVersion: one!.version, body: two!.body },
      { kind: 'data-key', id: key!.id, onVersion: key!.version, body: key!.body },
    ]);
    const other = await open(masterKey);
    await expect(other.sessions.open()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    await expect(runtime.vault.rotate()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
  });

  test('[VAULT3] a rotation encrypts every secret with a new key, and the values stay the same', async () => {
    const { runtime, store } = await start(newKey());
    await runtime.vault.set('one', 'value-of-one');
    await runtime.vault.set('two', 'value-of-two');
    const before = await recordsOf(store);
    expect(await runtime.vault.rotate()).toEqual({ secrets: 2 });
    const after = await recordsOf(store);
    const sealedOf = (all: typeof after) => all.map(({ body }) => (body as { sealed: string }).sealed);
    for (const sealed of sealedOf(after)) expect(sealedOf(before)).not.toContain(sealed);
    expect(await storedText(runtime, 'value-of-one value-of-two')).toContain('[secret one] [secret two]');
  });

  test('[VAULT3] concurrent changes and rotations lose nothing', async () => {
    const key = newKey();
    const { runtime, open } = await start(key);
    const other = await open(key);
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all([
      ...names.map((name, place) => (place % 2 ? runtime : other).vault.set(name, `value-of-${name}`)),
      runtime.vault.rotate(),
      other.vault.rotate(),
    ]);
    const text = await storedText(await open(key), names.map((name) => `value-of-${name}`).join(' '));
    expect(text).toContain(names.map((name) => `[secret ${name}]`).join(' '));
  });

  test('[VAULT6] without the master key, verbs fail with an error that says what to do, and nothing is appended unredacted', async () => {
    const { runtime, open } = await start(newKey());
    const locked = await open();
    await expect(locked.vault.set('a', 'long enough')).rejects.toMatchObject({
      code: 'VAULT_LOCKED',
      message: expect.stringContaining('perdure vault init'),
    });
    await locked.sessions.open();
    await runtime.vault.set('a', 'long enough');
    const late = await open();
    expect(await late.vault.list()).toMatchObject([{ name: 'a' }]);
    await expect(late.sessions.open()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    const wrong = await open(newKey());
    await expect(wrong.sessions.open()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    await expect(wrong.vault.set('b', 'long enough')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
  });

  test('[VAULT6, VAULT7] secrets sealed with a lost key can be removed, and then runs continue', async () => {
    const { runtime, open, store } = await start(newKey());
    await runtime.vault.set('a', 'value-of-a');
    await runtime.vault.set('b', 'value-of-b');
    const late = await open();
    await late.vault.remove('a');
    await expect(late.sessions.open()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    await late.vault.remove('b');
    expect(await late.vault.list()).toEqual([]);
    expect(await recordsOf(store)).toEqual([]);
    expect(await storedText(late, 'value-of-a')).toContain('value-of-a');
    await runtime.vault.set('a', 'value-of-a');
    expect(await storedText(runtime, 'value-of-a')).toContain('[secret a]');
  });

  test.each(['', 'short', randomBytes(31).toString('base64'), `${randomBytes(32).toString('hex')}`])(
    '[VAULT4] %j is rejected as a master key',
    async (masterKey) => {
      const { runtime } = await start(masterKey);
      await expect(runtime.vault.set('a', 'long enough')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    },
  );

  test('[VAULT4] a key file is private to its user and is never overwritten', async () => {
    const data = await dataFolder();
    const file = join(data, 'master.key');
    await makeMasterKey(file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await expect(makeMasterKey(file)).rejects.toMatchObject({ code: 'CONFLICT' });
    const runtime = await openRuntime({ store: openMemoryStore(), data });
    undo.push(() => runtime.close());
    await runtime.vault.set('a', 'long enough');
    await chmod(file, 0o640);
    await expect(runtime.vault.set('b', 'long enough')).rejects.toMatchObject({
      code: 'VAULT_LOCKED',
      message: expect.stringContaining('chmod 600'),
    });
    vi.stubEnv('PERDURE_MASTER_KEY_FILE', join(data, 'elsewhere'));
    const named = await openRuntime({ store: openMemoryStore(), data });
    undo.push(() => named.close());
    await expect(named.vault.set('a', 'long enough')).rejects.toMatchObject({
      code: 'VAULT_LOCKED',
      message: expect.stringContaining('PERDURE_MASTER_KEY_FILE'),
    });
    vi.stubEnv('PERDURE_MASTER_KEY', newKey());
    const given = await openRuntime({ store: openMemoryStore(), data });
    undo.push(() => given.close());
    await given.vault.set('a', 'long enough');
  });

  test('[VAULT5] after a rotation the new master key opens all vaults and the old one none', async () => {
    const [old, next] = [newKey(), newKey()];
    const { runtime, open } = await start(old);
    const other = (of: Runtime) => of.as({ workspace: 'other', member: 'ann', role: 'admin' });
    await runtime.vault.set('a', 'value-of-a');
    await other(runtime).vault.set('b', 'value-of-b');
    expect(await runtime.rotateMasterKey(next)).toEqual({ workspaces: 2 });
    await runtime.vault.set('c', 'value-of-c');
    const renewed = await open(next);
    expect(await storedText(renewed, 'value-of-a value-of-c')).toContain('[secret a] [secret c]');
    await other(renewed).sessions.open();
    const late = await open(old);
    await expect(late.sessions.open()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    await expect(other(late).sessions.open()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
  });

  test('[VAULT5] an interrupted rotation of the key file loses nothing and can be finished', async () => {
    const { store, open } = await start();
    const data = await dataFolder();
    const key = join(data, 'master.key');
    vi.stubEnv('PERDURE_MASTER_KEY_FILE', key);
    await makeMasterKey(key);
    const at = await open();
    await at.vault.set('a', 'value-of-a');
    const before = await readFile(key, 'utf8');
    await makeNextKey(key); // as if the process died here
    await (await open()).vault.set('b', 'value-of-b');
    expect(await (await open()).rotateMasterKey()).toEqual({ workspaces: 1 });
    expect(await readdir(data)).toEqual(['master.key']);
    expect(await readFile(key, 'utf8')).not.toBe(before);
    expect(await storedText(await open(), 'value-of-a value-of-b')).toContain('[secret a] [secret b]');
    expect(await store.records(registryWorkspace, 'data-key', { limit: 5 })).toHaveLength(1);
    await writeFile(key, before);
    await expect((await open()).sessions.open()).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
  });
});

describe('known secrets', () => {
  test('[RED5, RED10] are redacted immediately in the process that sets them, within a second in other processes, and not after removal', async () => {
    const key = newKey();
    const { runtime, open } = await start(key);
    const other = await open(key);
    expect(await storedText(other, 'value-of-a')).toContain('value-of-a');
    const session = await runtime.sessions.open();
    const appended = async () => JSON.stringify(await session.append({ role: 'user', content: 'value-of-a' }));
    expect(await appended()).toContain('value-of-a');
    await runtime.vault.set('a', 'value-of-a');
    expect(await appended()).toContain('[secret a]');
    await vi.waitFor(async () => expect(await storedText(other, 'value-of-a')).toContain('[secret a]'), 2000);
    await runtime.vault.remove('a');
    expect(await appended()).toContain('value-of-a');
  });

  test('[RED5] do not include secrets of other workspaces', async () => {
    const { runtime } = await start(newKey());
    await runtime.as({ workspace: 'other', member: 'ann', role: 'admin' }).vault.set('a', 'value-of-a');
    expect(await storedText(runtime, 'value-of-a')).toContain('value-of-a');
  });

  test('[RED5] include provider keys and the master key', async () => {
    const key = newKey();
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-0123456789');
    const { runtime } = await start(key);
    await runtime.vault.set('a', 'value-of-a');
    expect(await storedText(runtime, `sk-ant-0123456789 ${key}`)).toContain(
      '[secret ANTHROPIC_API_KEY] [secret PERDURE_MASTER_KEY]',
    );
  });

  test('[RED6] are removed from warnings and their causes', async () => {
    const warnings: unknown[] = [];
    const runtime = await openRuntime({
      store: openMemoryStore(),
      masterKey: newKey(),
      onWarning: (problem) => warnings.push(problem),
    });
    undo.push(() => runtime.close());
    await runtime.vault.set('a', 'value-of-a');
    const session = await runtime.sessions.open();
    const broken = await session.track(
      { tool: async (_: object) => 'ok' },
      {
        tool: {
          change: () => {
            throw new TypeError('no value-of-a', { cause: new Error('value-of-a is gone') });
          },
        },
      },
    );
    await broken.tool({});
    expect(warnings).toMatchObject([
      { name: 'TypeError', message: 'no [secret a]', cause: { message: '[secret a] is gone' } },
    ]);
    expect(warnings[0]).toBeInstanceOf(TypeError);
    expect(inspect(warnings, { depth: 9 })).not.toContain('value-of-a');
  });

  test('[RED3, RED12] are rejected in idempotency keys', async () => {
    const { runtime } = await start(newKey());
    await runtime.vault.set('a', 'value-of-a');
    const session = await runtime.sessions.open();
    const append = session.append({ role: 'user', content: 'x' }, { idempotencyKey: 'for value-of-a' });
    await expect(append).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
