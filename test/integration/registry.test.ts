import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Area, AuditEntry, KeyRequest, MemberRole, Runtime, ScopedRuntime } from '../../src/index.ts';
import { areas } from '../../src/schema/areas.ts';
import { type RuntimePlace, runtimeKinds, runtimePlace } from '../support/stores/runtime-places.ts';

const dayMs = 86_400_000;
let workspaces = 0;

describe.each(runtimeKinds)('members, keys and the audit log on %s', (kind) => {
  let place: RuntimePlace;
  /** Two runtimes on one store, as in two processes, with the clock of the test. */
  let runtime: Runtime;
  let other: Runtime;
  let now = Date.now();
  beforeAll(async () => {
    place = await runtimePlace(kind);
    [runtime, other] = [
      await place.open({ clock: { now: () => now } }),
      await place.open({ clock: { now: () => now } }),
    ];
  });
  afterAll(async () => {
    await runtime.close();
    await other.close();
    await place.remove();
  });

  const admin = (on = runtime, workspace = `w-${++workspaces}`) => on.as({ workspace, member: 'root', role: 'admin' });

  /** Makes a workspace with a member and one of their keys. */
  const withKey = async (request: KeyRequest & { readonly of?: MemberRole } = {}) => {
    const { of: role = 'admin', ...asked } = request;
    const workspace = `w-${++workspaces}`;
    const scoped = admin(runtime, workspace);
    await scoped.members.add({ id: 'ann', role, profile: { name: 'Ann' } });
    const made = await scoped.keys.create({ member: 'ann', ...asked });
    return { workspace, scoped, ...made };
  };

  const signIn = async (token: string): Promise<ScopedRuntime> => {
    const known = await runtime.authenticate(token);
    if (!known) throw new Error('the key is not known');
    return runtime.as(known.identity);
  };

  describe('workspaces', () => {
    test('[MEM1, PIPE12] are added once, however often, and listed by every process; local exists from the beginning', async () => {
      const [id, later] = [`a-${kind}`, `b-${kind}`];
      const added = await runtime.workspaces.add(id);
      expect(added).toEqual({ id, addedAt: now });
      await other.workspaces.add(later);
      expect(await other.workspaces.add(id)).toEqual(added);
      expect(await other.workspaces.add('local')).toMatchObject({ id: 'local' });
      expect((await other.workspaces.list()).map((each) => each.id)).toEqual([id, later, 'local']);
      expect(await other.workspaces.get(id)).toEqual(added);
      expect((await other.workspaces.get('local')).id).toBe('local');
      await expect(other.workspaces.get('nowhere')).rejects.toMatchObject({ code: 'WORKSPACE_NOT_FOUND' });
    });

    test('[MEM1, IN3] no workspace name collides with the list of workspaces', async () => {
      for (const name of ['.registry', '.', '', 'A', 'a'.repeat(64), 'a\u0000']) {
        await expect(runtime.workspaces.add(name)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
        expect(() => runtime.as({ workspace: name, member: 'ann' })).toThrow(
          expect.objectContaining({ code: 'INVALID_INPUT' }),
        );
      }
    });
  });

  describe('members', () => {
    test('[MEM2] are added, changed, listed and removed, in their workspace only', async () => {
      const { members } = admin();
      const ann = await members.add({ id: 'ann', role: 'approver', profile: { name: 'Ann' } });
      expect(ann).toEqual({ id: 'ann', role: 'approver', profile: { name: 'Ann' }, addedAt: now });
      const bob = await members.add({ id: 'bob' });
      expect(bob.role).toBe('member');
      expect(await members.list()).toEqual([ann, bob]);
      expect(await members.change('bob', { role: 'viewer' })).toEqual({ ...bob, role: 'viewer' });
      expect(await members.change('ann', { profile: {} })).toEqual({ ...ann, profile: {} });
      await members.remove('ann');
      expect((await members.list()).map(({ id }) => id)).toEqual(['bob']);
      expect(await admin().members.list()).toEqual([]);
    });

    test('[MEM2, IN1, IN3] an invalid member is rejected, and an existing or missing one is reported', async () => {
      const { members } = admin();
      await members.add({ id: 'ann' });
      await expect(members.add({ id: 'ann', role: 'admin' })).rejects.toMatchObject({ code: 'CONFLICT' });
      expect((await members.list())[0]!.role).toBe('member');
      for (const wrong of [{}, { id: '' }, { id: 'a b' }, { id: 'b', role: 'owner' }, { id: 'b', more: 1 }, null]) {
        await expect(members.add(wrong as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      }
      await expect(members.change('ann', { role: 'owner' } as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await expect(members.change('eve', {})).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
      await expect(members.remove('eve')).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
    });

    test('[MEM2] concurrent changes by two processes all take effect', async () => {
      const workspace = `w-${++workspaces}`;
      const [mine, theirs] = [admin(runtime, workspace).members, admin(other, workspace).members];
      await mine.add({ id: 'ann', role: 'viewer' });
      await Promise.all([mine.change('ann', { role: 'approver' }), theirs.change('ann', { profile: { name: 'Ann' } })]);
      expect(await mine.list()).toMatchObject([{ role: 'approver', profile: { name: 'Ann' } }]);
    });

    test('[MEM4] the only admin can be neither removed nor demoted', async () => {
      const { members } = admin();
      await members.add({ id: 'ann', role: 'admin' });
      await members.add({ id: 'bob', role: 'approver' });
      const refused = { code: 'LAST_ADMIN', message: expect.stringContaining('make another member admin first') };
      await expect(members.remove('ann')).rejects.toMatchObject(refused);
      await expect(members.change('ann', { role: 'approver' })).rejects.toMatchObject(refused);
      expect(await members.change('ann', { role: 'admin', profile: {} })).toMatchObject({ role: 'admin' });
      await members.change('bob', { role: 'admin' });
      await members.change('ann', { role: 'viewer' });
      await members.remove('ann');
      await expect(members.remove('bob')).rejects.toMatchObject(refused);
    });

    test('[MEM4] when admins remove each other at the same time, one remains', async () => {
      const workspace = `w-${++workspaces}`;
      const [mine, theirs] = [admin(runtime, workspace).members, admin(other, workspace).members];
      const ids = ['ann', 'bob', 'eve'];
      for (const id of ids) await mine.add({ id, role: 'admin' });
      const removals = ids.flatMap((id) => [mine.remove(id), theirs.change(id, { role: 'member' })]);
      await Promise.allSettled(removals);
      expect((await mine.list()).filter(({ role }) => role === 'admin')).toHaveLength(1);
    });

    test('[MEM3] every caller may ask who they are, and receives the profile from the workspace', async () => {
      const { workspace, token, key } = await withKey({ of: 'viewer', areas: ['usage'] });
      const { members } = await signIn(token);
      expect(await members.me()).toEqual({
        workspace,
        member: 'ann',
        role: 'viewer',
        reach: 'workspace',
        key: key.id,
        areas: ['usage'],
        profile: { name: 'Ann' },
      });
      expect(await admin().members.me()).toMatchObject({ member: 'root', role: 'admin' });
    });
  });

  describe('keys', () => {
    test('[AUD1] an action for all workspaces is recorded in the first of them', async () => {
      const name = `ws-${Date.now()}`;
      await runtime.workspaces.add(name);
      const { entries } = await runtime.audit.list({ limit: 20 });
      expect(entries).toContainEqual(
        expect.objectContaining({ verb: 'workspaces.add', target: name, outcome: 'done' }),
      );
    });

    test('[PDK1, PDK7] a key authenticates its member in every process, and its secret is stored nowhere', async () => {
      const { workspace, scoped, key, token } = await withKey({ name: 'laptop' });
      expect(key).toEqual({
        id: key.id,
        member: 'ann',
        name: 'laptop',
        role: 'admin',
        reach: 'workspace',
        createdAt: now,
      });
      expect(token).toMatch(new RegExp(`^pdk_${workspace}\\.${key.id}\\.[\\w-]{43}$`));
      const known = await other.authenticate(token);
      const identity = {
        workspace,
        member: 'ann',
        role: 'admin',
        reach: 'workspace',
        profile: { name: 'Ann' },
        key: key.id,
      };
      expect(known).toEqual({ identity, key });
      expect(await scoped.keys.list()).toEqual([key]);
      const { session } = { session: await (await signIn(token)).sessions.open() };
      expect((await Array.fromAsync(session.events()))[0]!.actor).toBe('member:ann');
    });

    test('[PDK1] a caller that acts for the program becomes a member when their first key is created; no other caller does', async () => {
      const workspace = `w-${++workspaces}`;
      const first = await admin(runtime, workspace).keys.create();
      expect((await other.authenticate(first.token))?.identity).toMatchObject({ member: 'root', role: 'admin' });
      expect(await admin(runtime, workspace).members.list()).toMatchObject([{ id: 'root', role: 'admin' }]);
      const signedIn = await signIn(first.token);
      await admin(other, workspace).members.add({ id: 'ann', role: 'admin' });
      await admin(other, workspace).members.remove('root');
      await expect(signedIn.keys.create()).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
    });

    test('[PDK7] no two keys have the same secret, even for one member', async () => {
      const { scoped } = await withKey();
      const made = await Promise.all(Array.from({ length: 20 }, () => scoped.keys.create({ member: 'ann' })));
      expect(new Set(made.map(({ token }) => token.split('.')[2])).size).toBe(20);
      expect((await scoped.keys.list()).length).toBe(21);
    });

    test('[PDK2] an invalid or unknown token authenticates no member, however hostile it is', async () => {
      const { workspace, key, token } = await withKey();
      const foreign = await withKey();
      const secret = token.split('.')[2]!;
      const changed = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`;
      const hostile = [
        '',
        'pdk_',
        'pdk_..',
        '.'.repeat(1000),
        '.'.repeat(100_000),
        'x'.repeat(100_000),
        `pdk_${'a'.repeat(100_000)}.${key.id}.${secret}`,
        `pdk_${workspace}.${key.id}.${'a'.repeat(100_000)}`,
        `pdk_${workspace}.${key.id}.`,
        `pdk_${workspace}.${key.id}.${secret}\n`,
        `pdk_${workspace}.${key.id}.${secret}.`,
        ` ${token}`,
        `${token}\u0000`,
        token.replace('.', '\u0000.'),
        token.replace('pdk_', 'pdk_\u0000'),
        token.replace('pdk_', 'PDK_'),
        token.toUpperCase(),
        `pdk_${workspace}.${key.id}.${changed}`,
        `pdk_${foreign.workspace}.${key.id}.${secret}`,
        `pdk_${workspace}.${foreign.key.id}.${foreign.token.split('.')[2]}`,
        `pdk_${workspace}.${foreign.key.id}.${secret}`,
        `pdk_.registry.${key.id}.${secret}`,
        `pdk_${workspace}' or '1'='1.${key.id}.${secret}`,
        `pdk_${workspace}.%.${secret}`,
        `pdk_${workspace}.__proto__.${secret}`,
        `pdk_nowhere.${key.id}.${secret}`,
        'pdk_\ud800.\udfff.\ud800',
      ];
      for (const each of hostile) expect(await runtime.authenticate(each)).toBeUndefined();
      for (const each of [undefined, null, 7, {}, [token], { toString: () => token }, Buffer.from(token)]) {
        expect(await runtime.authenticate(each as never)).toBeUndefined();
      }
      expect(await runtime.authenticate(token)).toBeDefined();
    });

    test('[PDK3] a key expires at the given time, and a key that has already expired cannot be created', async () => {
      const { scoped, token, key } = await withKey({ expiresAt: now + dayMs });
      const began = now;
      onTestFinished(() => {
        now = began + dayMs; // the store knows this time
      });
      now = began + dayMs - 1;
      expect((await runtime.authenticate(token))?.key).toEqual(key);
      now = began + dayMs;
      expect(await runtime.authenticate(token)).toBeUndefined();
      await expect(scoped.keys.rotate(key.id)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
      for (const expiresAt of [now, now - 1, 0, -1, 1.5, Number.NaN]) {
        await expect(scoped.keys.create({ member: 'ann', expiresAt })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      }
      expect(await scoped.keys.list()).toEqual([{ ...key, expiredAt: began + dayMs }]);
    });

    test('[PDK3] an expired key stays expired in every process after the clock goes back', async () => {
      const { workspace, scoped, token, key } = await withKey({
        expiresAt: now + dayMs,
        areas: ['tokens', 'sessions'],
      });
      const child = await scoped.keys.createToken({ member: 'ann', parent: key.id });
      const rotated = await scoped.keys.create({ member: 'ann', expiresAt: now + dayMs });
      const began = now;
      onTestFinished(() => {
        now = began + dayMs; // the store knows this time
      });
      now = began + dayMs;
      expect(await runtime.authenticate(token)).toBeUndefined();
      await expect(scoped.keys.rotate(rotated.key.id)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
      now = began;
      const reopened = await place.open({ clock: { now: () => now } });
      onTestFinished(() => reopened.close());
      for (const each of [runtime, other, reopened]) {
        for (const old of [token, child.token, rotated.token]) expect(await each.authenticate(old)).toBeUndefined();
        const { keys } = admin(each, workspace);
        await expect(keys.rotate(key.id)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
        await expect(keys.createToken({ member: 'ann', parent: key.id })).rejects.toMatchObject({ code: 'FORBIDDEN' });
      }
    });

    test('[PDK4] a rotation issues another secret under the same id, and the old secret is rejected immediately in every process', async () => {
      const { workspace, token, key } = await withKey({ role: 'member', areas: ['files'] });
      const rotated = await admin(other, workspace).keys.rotate(key.id);
      expect(rotated.key).toEqual(key);
      expect(rotated.token).not.toBe(token);
      for (const each of [runtime, other]) {
        expect(await each.authenticate(token)).toBeUndefined();
        expect((await each.authenticate(rotated.token))?.identity).toMatchObject({ role: 'member', areas: ['files'] });
      }
    });

    test('[PDK4] a key revoked in another process is rejected immediately and permanently, and stays listed', async () => {
      const { workspace, scoped, token, key } = await withKey();
      expect(await runtime.authenticate(token)).toBeDefined();
      const revokedAt = now;
      const { keys } = admin(other, workspace);
      expect(await keys.revoke(key.id)).toEqual({ ...key, revokedAt });
      expect(await runtime.authenticate(token)).toBeUndefined();
      now += 1;
      expect((await keys.revoke(key.id)).revokedAt).toBe(revokedAt);
      await expect(keys.rotate(key.id)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
      expect(await scoped.keys.list()).toEqual([{ ...key, revokedAt }]);
      expect(await runtime.authenticate(token)).toBeUndefined();
    });

    test('[PDK4, TEN1] a key of another workspace is not found', async () => {
      const { token, key } = await withKey();
      for (const verb of ['rotate', 'revoke'] as const) {
        await expect(admin().keys[verb](key.id)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
        await expect(admin().keys[verb]('key_1')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      }
      expect(await admin().keys.list()).toEqual([]);
      expect(await runtime.authenticate(token)).toBeDefined();
    });

    test('[PDK5] removing a member revokes their keys, and a new member of that name has none of them', async () => {
      const { workspace, scoped, token, key } = await withKey({ of: 'approver' });
      expect(await runtime.authenticate(token)).toBeDefined();
      await admin(other, workspace).members.remove('ann');
      expect(await runtime.authenticate(token)).toBeUndefined();
      expect(await scoped.keys.list()).toEqual([{ ...key, revokedAt: now }]);
      await scoped.members.add({ id: 'ann', role: 'admin' });
      expect(await runtime.authenticate(token)).toBeUndefined();
      await expect(scoped.keys.create({ member: 'eve' })).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
    });

    test('[PDK5] a key made while its member is removed never authenticates a later member of that name', async () => {
      const { workspace, scoped } = await withKey({ of: 'approver' });
      const theirs = admin(other, workspace);
      for (let n = 0; n < 5; n++) {
        const made = Array.from({ length: 4 }, () => scoped.keys.create({ member: 'ann' }).catch(() => undefined));
        await theirs.members.remove('ann');
        const tokens = (await Promise.all(made)).flatMap((key) => key?.token ?? []);
        await theirs.members.add({ id: 'ann', role: 'approver' });
        for (const token of tokens) expect(await runtime.authenticate(token)).toBeUndefined();
      }
    });

    test('[PDK6] the effective role is the lower of the current roles of key and member', async () => {
      const { scoped, token } = await withKey();
      await scoped.members.add({ id: 'bob', role: 'admin' });
      const roleNow = async () => (await other.authenticate(token))?.identity.role;
      expect(await roleNow()).toBe('admin');
      await scoped.members.change('ann', { role: 'viewer' });
      expect(await roleNow()).toBe('viewer');
      await expect((await signIn(token)).sessions.open()).rejects.toMatchObject({ code: 'FORBIDDEN' });
      await scoped.members.change('ann', { role: 'admin' });
      expect(await roleNow()).toBe('admin');
      const low = await scoped.keys.create({ member: 'ann', role: 'viewer' });
      expect((await other.authenticate(low.token))?.identity.role).toBe('viewer');
      const own = await scoped.keys.create({ member: 'ann' });
      expect(own.key.role).toBe('admin');
    });

    test("[PDK6] no key exceeds its member's role, and promoting the member does not raise the key", async () => {
      const { scoped, token } = await withKey({ of: 'member' });
      await expect(scoped.keys.create({ member: 'ann', role: 'admin' })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('ann has the role member'),
      });
      expect(await scoped.keys.list()).toHaveLength(1);
      await scoped.members.change('ann', { role: 'admin' });
      expect((await other.authenticate(token))?.identity.role).toBe('member');
    });

    test('[PDK6, PDK8] a caller cannot make or rotate a key with more rights than their own', async () => {
      const { scoped, key, token } = await withKey({ areas: ['keys', 'files'] });
      const wide = await scoped.keys.create({ member: 'ann' });
      const limited = await signIn(token);
      const wider: readonly (readonly Area[] | undefined)[] = [undefined, areas, ['keys', 'vault'], ['vault']];
      for (const asked of wider) {
        const create = limited.keys.create({ member: 'ann', areas: asked && [...asked] });
        await expect(create).rejects.toMatchObject({ code: 'FORBIDDEN' });
      }
      await expect(limited.keys.rotate(wide.key.id)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      expect(await runtime.authenticate(wide.token)).toBeDefined();
      expect(await scoped.keys.list()).toHaveLength(2);
      const narrow = await limited.keys.create({ areas: ['files'], role: 'member' });
      expect(narrow.key).toMatchObject({ member: 'ann', areas: ['files'], role: 'member' });
      await expect((await signIn(narrow.token)).keys.list()).rejects.toMatchObject({ code: 'FORBIDDEN' });
      expect((await limited.keys.rotate(key.id)).key).toEqual(key);
      await limited.keys.revoke(wide.key.id);
      expect(await runtime.authenticate(wide.token)).toBeUndefined();
    });

    test('[PDK6, PDK8] a caller cannot make or rotate a key that outlives their own', async () => {
      const expiresAt = now + dayMs;
      const { scoped, token } = await withKey({ expiresAt });
      const lasting = await scoped.keys.create({ member: 'ann' });
      const passing = await signIn(token);
      for (const later of [undefined, expiresAt + 1]) {
        await expect(passing.keys.create({ expiresAt: later })).rejects.toMatchObject({ code: 'FORBIDDEN' });
      }
      await expect(passing.keys.rotate(lasting.key.id)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      expect((await passing.keys.create({ expiresAt })).key).toMatchObject({ expiresAt });
    });

    test('[PDK6, IN1] an invalid request for a key is rejected and makes none', async () => {
      const { scoped } = await withKey();
      const wrong = [
        { areas: [] },
        { areas: ['all'] },
        { role: 'owner' },
        { name: '' },
        { more: 1 },
        { member: 'a b' },
      ];
      for (const request of wrong) {
        await expect(scoped.keys.create({ member: 'ann', ...request } as never)).rejects.toMatchObject({
          code: 'INVALID_INPUT',
        });
      }
      expect(await scoped.keys.list()).toHaveLength(1);
    });
  });

  describe('the audit log', () => {
    const entriesOf = async (scoped: ScopedRuntime): Promise<readonly Omit<AuditEntry, 'id' | 'at'>[]> =>
      (await scoped.audit.list()).entries.map(({ id, at, ...entry }) => entry);

    test('[AUD1] records every use of a privileged verb, newest first: member, key, target and outcome', async () => {
      const { scoped, token, key } = await withKey();
      const ann = await signIn(token);
      await ann.members.add({ id: 'bob' });
      await expect(ann.keys.revoke('key_00000000000000000000000000')).rejects.toThrow();
      await ann.gc({ dryRun: true });
      await ann.sessions.open({ title: 'nothing privileged' });
      const root = { member: 'root' };
      const by = { member: 'ann', key: key.id };
      expect(await entriesOf(scoped)).toEqual([
        { ...root, verb: 'audit.list', outcome: 'asked' },
        { ...by, verb: 'runtime.gc', outcome: 'done' },
        { ...by, verb: 'keys.revoke', target: 'key_00000000000000000000000000', outcome: 'KEY_NOT_FOUND' },
        { ...by, verb: 'members.add', target: 'bob', outcome: 'done' },
        { ...root, verb: 'keys.create', target: 'ann', outcome: 'done' },
        { ...root, verb: 'members.add', target: 'ann', outcome: 'done' },
      ]);
      expect((await scoped.audit.list({ limit: 1 })).entries[0]!.at).toBe(now);
      expect(await entriesOf(admin())).toHaveLength(1);
    });

    test('[AUD1] records rejected privileged verbs too, and every answer to an approval', async () => {
      const { workspace, scoped } = await withKey();
      const eve = runtime.as({ workspace, member: 'eve', role: 'member' });
      const session = await eve.sessions.open();
      await expect(eve.members.list()).rejects.toMatchObject({ code: 'FORBIDDEN' });
      await expect(eve.approvals.approve('apr_00000000000000000000000000')).rejects.toThrow();
      await expect(session.deny('apr_00000000000000000000000000')).rejects.toThrow();
      const viewer = runtime.as({ workspace, member: 'vic', role: 'viewer' });
      await expect(viewer.sessions.open()).rejects.toMatchObject({ code: 'FORBIDDEN' });
      const target = 'apr_00000000000000000000000000';
      expect((await entriesOf(scoped)).slice(1, 4)).toEqual([
        { member: 'eve', verb: 'session.deny', target, outcome: 'APPROVAL_NOT_FOUND' },
        { member: 'eve', verb: 'approvals.approve', target, outcome: 'APPROVAL_NOT_FOUND' },
        { member: 'eve', verb: 'members.list', outcome: 'FORBIDDEN' },
      ]);
    });

    test('[AUD1] is read page by page', async () => {
      const scoped = admin();
      for (let n = 0; n < 7; n++) await scoped.members.add({ id: `m${n}` });
      const targets: (string | undefined)[] = [];
      let cursor: string | undefined;
      do {
        const page = await scoped.audit.list({ limit: 3, cursor });
        targets.push(...page.entries.map(({ target }) => target));
        cursor = page.cursor;
      } while (cursor);
      expect(targets.filter((target) => target)).toEqual(['m6', 'm5', 'm4', 'm3', 'm2', 'm1', 'm0']);
      await expect(scoped.audit.list({ cursor: 'x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });

    test('[AUD2] holds no token and no secret, and only the name of the verb used', async () => {
      const { scoped, token } = await withKey();
      await expect(scoped.keys.revoke('x'.repeat(100_000))).rejects.toThrow();
      await expect(scoped.members.remove('a\u0000\ud800')).rejects.toThrow();
      const { entries } = await scoped.audit.list();
      expect(JSON.stringify(entries)).not.toContain(token.split('.')[2]);
      expect(JSON.stringify(entries).length).toBeLessThan(5000);
    });
  });
});
