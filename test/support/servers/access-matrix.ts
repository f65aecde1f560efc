import { expect } from 'vitest';
import { z } from 'zod';
import { permissionFor, type Verb } from '../../../src/core/runtime/permissions.ts';
import { defineAgent, defineScript, defineTool, type ScopedRuntime } from '../../../src/index.ts';
import { areas } from '../../../src/schema/areas.ts';
import type { MemberRole } from '../../../src/schema/member.ts';
import { isAtLeast } from '../../../src/schema/member-roles.ts';
import type { Reach } from '../../../src/schema/reaches.ts';
import type { Route } from '../../../src/servers/http/route.ts';
import { routes } from '../../../src/servers/http/routes/index.ts';
import { operationsOf, type SampleRoute, sampleOf } from './api-samples.ts';
import { startTestServer, testAgent } from './http-server.ts';
import { absentIds, type IdField, idFieldsOf, withId } from './id-fields.ts';
import { type Shown, shownBy } from './shown-by-routes.ts';

/** Whose session it is, from the point of view of the caller. */
export const owners = ['own', 'shared', 'workspace', 'private', 'other tenant', 'absent'] as const;
type Owner = (typeof owners)[number];

/** A caller of the matrix. The token of a limited caller names only its own sessions. */
interface Caller {
  readonly role: MemberRole;
  readonly reach: Reach;
  readonly isLimited: boolean;
  readonly token: string;
  readonly ids: Readonly<Record<IdField['kind'], Readonly<Record<Owner, string>>>>;
}

const notFound = { session: 'SESSION_NOT_FOUND', approval: 'APPROVAL_NOT_FOUND' } as const;

/** Fields that take the id of any session, and answer for one that is not seen as for one that does not exist. */
const silentFields: readonly string[] = ['reportUsage session', 'createToken sessions'];
const isSilent = ({ name }: Route, field: IdField | undefined): boolean =>
  field !== undefined && silentFields.includes(`${name} ${field.path.join('.')}`);

/** Routes that make sessions or tokens, which a token limited to sessions cannot. */
const makers: readonly string[] = ['openSession', 'forkSession', 'replayTurn', 'importSessions', 'createToken'];

const isSeen = (owner: Owner, kind: IdField['kind'], { role, reach, isLimited }: Caller): boolean => {
  if (owner === 'own') return true;
  if (isLimited) return false;
  if (owner === 'shared') return true;
  if (reach === 'own') return false;
  // An approver sees a private session for its open approval.
  return owner === 'workspace' || (owner === 'private' && isAtLeast(role, kind === 'approval' ? 'approver' : 'admin'));
};

const isRefused = (verb: Verb, { role, reach }: Caller): boolean => {
  const permission = permissionFor(verb);
  return !isAtLeast(role, permission.role) || (permission.reach === 'workspace' && reach === 'own');
};

const expectedEntry = ({ path, verb, name }: Route): readonly Shown[] => {
  if (path.includes('{session}')) return ['a session'];
  if (permissionFor(verb as Verb).role === 'admin') return ['the workspace, to admins'];
  return idFieldsOf(routes.find((route) => route.name === name)!).length > 0
    ? ['what the caller sees']
    : ['what the caller sees', 'its own identity'];
};

interface Answer {
  readonly status: number;
  readonly code: string;
  /** What the caller learns, without the id that it gave. */
  readonly said: string;
}

const deploy = defineTool({ name: 'deploy', input: z.object({}), approval: true, execute: () => 'done' });
const asker = defineAgent({
  name: 'asker',
  model: defineScript({ name: 'asker', steps: [{ calls: [{ tool: 'deploy', input: {} }] }, { text: 'Done.' }] }),
  tools: [deploy],
});

/** Calls every route as each role and reach, with every id that it takes, of each owner, and compares the answers. */
export const checkAccessMatrix = async (roles: readonly MemberRole[]): Promise<number> => {
  const agents = { agents: [testAgent, asker] };
  const { runtime, server, json } = await startTestServer({ checksAnswers: false }, agents, { hasWorker: false });
  const operations = new Map<string, SampleRoute>(
    operationsOf(await json('/v1/openapi.json', { key: '' })).map((each) => [each.operationId, each]),
  );
  const undeclared = routes.filter((route) => !expectedEntry(route).some((shown) => shown === shownBy(route.name)));
  expect(
    undeclared.map(({ name }) => name),
    'routes without the right entry in shown-by-routes.ts',
  ).toEqual([]);
  const as = (member: string, workspace = 'local', role: MemberRole = 'member') =>
    runtime.as({ workspace, member, role });
  const [admin, other, foreign] = [as('local', 'local', 'admin'), as('the-other'), as('the-other', 'other')];

  /** Opens a session of each owner. */
  const openEach = async (mine: ScopedRuntime, member: string, options: { agent?: typeof asker } = {}) => ({
    own: await mine.sessions.open(options),
    shared: await other.sessions.open({ ...options, visibility: 'private', sharedWith: [member] }),
    workspace: await other.sessions.open(options),
    private: await other.sessions.open({ ...options, visibility: 'private' }),
    'other tenant': await foreign.sessions.open(options),
  });
  const idsOf = (sessions: Awaited<ReturnType<typeof openEach>>) => ({
    ...(Object.fromEntries(Object.entries(sessions).map(([owner, { id }]) => [owner, id])) as Record<
      string,
      string
    > as Record<Owner, string>),
    absent: absentIds.session,
  });
  /** The open approvals in sessions of each owner. */
  const approvalsOf = async (sessions: Awaited<ReturnType<typeof openEach>>): Promise<Record<Owner, string>> => {
    const foreignAdmin = as('local', 'other', 'admin');
    for (const [owner, { id }] of Object.entries(sessions)) {
      const { sessions: all } = owner === 'other tenant' ? foreignAdmin : admin;
      await (await all.get(id)).send('Go'); // a viewer could send nothing
    }
    await runtime.worker().runUntilIdle();
    const all = [...(await admin.approvals.list()), ...(await foreignAdmin.approvals.list())];
    const entries = Object.entries(sessions).map(([owner, { id }]) => [owner, all.find((a) => a.session === id)!.id]);
    return { ...Object.fromEntries(entries), absent: absentIds.approval };
  };
  const callersFor = async (role: MemberRole, reach: Reach): Promise<readonly Caller[]> => {
    const member = `m-${role}-${reach}`;
    await admin.members.add({ id: member, role, reach });
    await admin.members.add({ id: `${member}-keeper`, role: 'admin' });
    const { token: full, key } = await admin.keys.create({ member });
    const caller = async (isLimited: boolean): Promise<Caller> => {
      const sessions = await openEach(as(member), member);
      const waiting = await openEach(as(member), member, { agent: asker });
      const named = { member, parent: key.id, areas: [...areas], sessions: [sessions.own.id, waiting.own.id] };
      const token = isLimited ? (await admin.keys.createToken(named)).token : full;
      return { role, reach, isLimited, token, ids: { session: idsOf(sessions), approval: await approvalsOf(waiting) } };
    };
    return [await caller(false), await caller(true)];
  };

  const ask = async (route: Route, caller: Caller, field: IdField | undefined, owner: Owner): Promise<Answer> => {
    const id = field ? caller.ids[field.kind][owner] : '';
    const inPath = field?.in === 'path' ? { [field.path[0]!]: id } : {};
    // A sample that names a session must name one that the caller sees, except in the field of the test.
    const sample = idFieldsOf(route)
      .filter((each) => each.in === 'body' && each.path.length === 1 && !each.isList && each.path[0] !== 'carryFrom')
      .reduce(
        (made, each) => withId(made, each, caller.ids[each.kind].own),
        sampleOf(operations.get(route.name)!, { session: caller.ids.session.own, ...inPath }),
      );
    const { address, init } = field && field.in !== 'path' ? withId(sample, field, id) : sample;
    const leaving = new AbortController();
    const response = await fetch(`${server.url}${address}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${caller.token}` },
      signal: leaving.signal,
    });
    const { status } = response;
    const isProblem = response.headers.get('content-type') === 'application/problem+json';
    const problem = isProblem ? ((await response.json()) as { code: string; detail: string }) : undefined;
    const shown = init.method === 'GET' && isSilent(route, field) ? await response.text() : '';
    leaving.abort();
    return { status, code: problem?.code ?? 'none', said: (problem?.detail ?? shown).replaceAll(id || '-', 'ID') };
  };

  const problemWith = (
    route: Route,
    caller: Caller,
    field: IdField | undefined,
    owner: Owner,
    { status, code, said }: Answer,
    absent: Answer | undefined,
  ): string | undefined => {
    const { name, verb } = route;
    if (isRefused(verb as Verb, caller)) return code === 'FORBIDDEN' ? undefined : 'not FORBIDDEN';
    if (status >= 500) return 'not answered';
    if (code === 'FORBIDDEN') return caller.isLimited && makers.includes(name) ? undefined : 'not answered';
    if (!field) return undefined;
    if (isSeen(owner, field.kind, caller)) {
      // An approver no longer sees the private session once its approval is answered, by the route before.
      const isAnswered = field.kind === 'approval' && owner === 'private' && name === 'denyCall';
      return code === notFound[field.kind] && !isAnswered ? 'not found' : undefined;
    }
    if (!isSilent(route, field) && code !== notFound[field.kind]) return `not ${notFound[field.kind]}`;
    return said === absent?.said && status === absent.status ? undefined : `not as for an absent one: ${absent?.said}`;
  };

  const wrong: string[] = [];
  let count = 0;
  for (const role of roles) {
    for (const reach of ['workspace', 'own'] as const) {
      for (const caller of await callersFor(role, reach)) {
        for (const route of routes) {
          const fields = idFieldsOf(route);
          for (const field of fields.length > 0 ? fields : [undefined]) {
            const asked = field ? owners : (['own'] as const);
            const answers = new Map<Owner, Answer>(
              await Promise.all(asked.map(async (owner) => [owner, await ask(route, caller, field, owner)] as const)),
            );
            for (const [owner, answer] of answers) {
              const problem = problemWith(route, caller, field, owner, answer, answers.get('absent'));
              count += 1;
              if (!problem) continue;
              const who = `${role}, reach ${reach}${caller.isLimited ? ', limited token' : ''}`;
              const where = field ? `${field.in} ${field.path.join('.')} ${owner}` : 'no id';
              wrong.push(
                `${route.name} as ${who}, ${where}: ${answer.status} ${answer.code} ${answer.said}: ${problem}`,
              );
            }
          }
        }
      }
    }
  }
  expect(wrong).toEqual([]);
  return count;
};
