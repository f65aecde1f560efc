import { describe, expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { type Area, areas } from '../../schema/areas.ts';
import { isPerdureError, type PerdureError } from '../../schema/error.ts';
import { MemberId } from '../../schema/ids.ts';
import type { MemberRole } from '../../schema/member.ts';
import { isAtLeast, memberRoles } from '../../schema/member-roles.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { CallsUnderWay } from '../access/calls-under-way.ts';
import { guardWith, type Permission } from '../access/guard.ts';
import { permissionFor, permissions, type Verb } from './permissions.ts';

const verbs = Object.entries(permissions).flatMap(([handle, methods]) =>
  Object.keys(methods).map((method) => ({ handle, method, ...permissionFor(`${handle}.${method}` as Verb) })),
);

type Call = (...args: unknown[]) => unknown;
type Handle = Readonly<Record<string, Call>>;

/** The handles that a member of this role gets, in a workspace with one session. */
const handlesOf = async (role: MemberRole, limits?: readonly Area[]): Promise<Readonly<Record<string, Handle>>> => {
  const runtime = await openRuntime({ store: openMemoryStore() });
  const { id } = await runtime.sessions.open();
  const scoped = runtime.as({ workspace: 'local', member: 'ann', role, areas: limits });
  const session = await scoped.sessions.get(id).catch(() => undefined);
  const handles = { ...scoped, runtime: scoped, session, files: session?.files, artifacts: session?.artifacts };
  return handles as unknown as Readonly<Record<string, Handle>>;
};

const failureOf = async (call: () => unknown): Promise<PerdureError | undefined> => {
  try {
    await call();
  } catch (error) {
    if (isPerdureError(error)) return error;
  }
  return undefined;
};

describe('permissions', () => {
  test.each(memberRoles)(
    '[ROLE1, ROLE3] a %s may use the verbs of that role or a lower one, and no others',
    async (role) => {
      const handles = await handlesOf(role);
      for (const { handle, method, role: least } of verbs) {
        if (handle === 'run') continue; // only members who may send get this handle
        const failure = await failureOf(() => handles[handle]![method]!());
        expect([handle, method, failure?.code === 'FORBIDDEN']).toEqual([handle, method, !isAtLeast(role, least)]);
        if (failure?.code !== 'FORBIDDEN') continue;
        expect(failure.message).toContain(`requires the role ${least}`);
        expect(failure.details).toEqual({ verb: `${handle}.${method}`, needs: least, role });
      }
    },
  );

  test('[ROLE3] a member who may not answer approvals is referred to the roles that may', async () => {
    const { approvals } = await handlesOf('viewer');
    for (const method of ['approve', 'deny']) {
      const failure = await failureOf(() => approvals![method]!());
      expect(failure?.message).toMatch(
        /acts as viewer: ask a member whose role the approval accepts, by default approver or admin$/,
      );
    }
  });

  test('[ROLE3] a rejected verb changes nothing', async () => {
    const runtime = await openRuntime({ store: openMemoryStore() });
    const session = await runtime.sessions.open({ title: 'before' });
    const viewer = runtime.as({ workspace: 'local', member: 'eve', role: 'viewer' });
    const seen = await viewer.sessions.get(session.id);
    await expect(seen.update({ title: 'after' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(seen.files.write('a', 'b')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(viewer.sessions.open()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(() => viewer.worker()).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
    expect(() => seen.export()).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
    expect((await seen.summary()).title).toBe('before');
    expect((await viewer.sessions.list()).sessions).toHaveLength(1);
    expect(await seen.files.list()).toEqual([]);
  });

  test('[ROLE2] a key limited to areas cannot use another area, whatever its role', async () => {
    for (const area of areas) {
      const allowed = await handlesOf('admin', ['sessions', 'files', area]);
      const refused = await handlesOf(
        'admin',
        areas.filter((each) => each !== area),
      );
      for (const { handle, method, areas: needed } of verbs) {
        if (handle === 'run' || !needed?.includes(area)) continue;
        expect((await failureOf(() => allowed[handle]![method]!()))?.details.verb).toBeUndefined();
        if (handle === 'session' && area === 'sessions') continue; // this key gets no such handle
        const failure = await failureOf(() => refused[handle]![method]!());
        expect(failure).toMatchObject({ code: 'FORBIDDEN', details: { verb: `${handle}.${method}`, area } });
      }
    }
    expect((await failureOf(async () => (await handlesOf('admin', [])).sessions!.list!()))?.code).toBe('FORBIDDEN');
  });

  test('[ROLE2] a key that may not read files gets no file content from any verb of a session', async () => {
    const runtime = await openRuntime({ store: openMemoryStore() });
    const session = await runtime.sessions.open();
    const branch = await session.fork();
    await branch.files.write('plan.txt', 'the words within');
    const scoped = runtime.as({ workspace: 'local', member: 'ann', role: 'admin', areas: ['sessions'] });
    const mine = await scoped.sessions.get(session.id);
    const theirs = await scoped.sessions.get(branch.id);
    const at = (await theirs.summary()).seq;
    const answers = JSON.stringify([
      await theirs.state(),
      await theirs.diff({ seq: 1 }, { seq: at }),
      await Array.fromAsync(theirs.events()),
      (await theirs.commits()).commits,
      (await scoped.sessions.commits()).commits,
      await theirs.context(),
      await theirs.verify(),
      await (await theirs.fork()).state(),
    ]);
    expect(answers).toContain('plan.txt');
    expect(answers).not.toContain('the words within');
    const refused = expect.objectContaining({
      code: 'FORBIDDEN',
      message: expect.stringContaining('to the area files'),
    });
    await expect(mine.adopt(branch.id)).rejects.toEqual(refused);
    await expect(mine.rewind({ to: { seq: 1 } })).rejects.toEqual(refused);
    await expect(mine.retry({ turn: 1 })).rejects.toEqual(refused);
    await expect(theirs.revert(at)).rejects.toEqual(refused);
    expect(() => theirs.export()).toThrow(refused);
    expect(() => scoped.sessions.export([branch.id])).toThrow(refused);
    await expect(theirs.files.read('plan.txt')).rejects.toEqual(refused);
  });

  test('[ROLE1, ROLE4] a method that is missing from the permission table is never exposed', () => {
    const caller = { member: MemberId.parse('ann'), role: 'admin', reach: 'workspace' } as const;
    const calls = new CallsUnderWay(new AbortController().signal);
    const guard = guardWith(permissions, caller, (_verb, _target, work) => work(), calls);
    expect(() => guard('run', { shout: () => 'a' }).shout).toThrow('run.shout is not in the permission table');
    expect(() => guard('shouts', { shout: () => 'a' }).shout).toThrow('shouts.shout is not in the permission table');
    class Crier {
      shout(): string {
        return 'a';
      }
    }
    expect(() => guard('run', new Crier()).shout).toThrow('run.shout is not in the permission table');
  });

  test('[ST3] a call through a guarded handle is counted as in flight until it ends', async () => {
    const caller = { member: MemberId.parse('ann'), role: 'admin', reach: 'workspace' } as const;
    const calls = new CallsUnderWay(new AbortController().signal);
    const guard = guardWith(permissions, caller, (_verb, _target, work) => work(), calls);
    const { promise, resolve } = Promise.withResolvers<void>();
    const order: string[] = [];
    const call = guard('sessions', { list: () => promise })
      .list()
      .then(() => order.push('call'));
    const settled = calls.settle().then(() => order.push('settled'));
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    resolve();
    await Promise.all([call, settled]);
    expect(order).toEqual(['call', 'settled']);
  });

  test('[ROLE1, ROLE5] reading requires the role viewer, changing requires member, limits and lifts require approver, and workspace-wide verbs require admin', () => {
    const least = (role: MemberRole) =>
      verbs.filter((verb: Permission) => verb.role === role).map(({ handle, method }) => `${handle}.${method}`);
    expect(least('approver')).toEqual(['session.limit', 'session.lift', 'session.clearTaint']);
    expect(least('admin')).toEqual([
      'sessions.import',
      'sessions.rebuildProjections',
      'members.list',
      'members.add',
      'members.change',
      'members.remove',
      'quotas.list',
      'quotas.set',
      'quotas.remove',
      'keys.create',
      'keys.createToken',
      'keys.list',
      'keys.rotate',
      'keys.revoke',
      'audit.list',
      'vault.set',
      'vault.list',
      'vault.remove',
      'vault.rotate',
      'webhooks.add',
      'webhooks.list',
      'webhooks.change',
      'webhooks.remove',
      'webhooks.rotate',
      'webhooks.deliveries',
      'webhooks.redeliver',
      'webhooks.test',
      'runtime.gc',
      'runtime.workers',
    ]);
  });
});
