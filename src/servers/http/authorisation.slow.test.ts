import { expect, test } from 'vitest';
import { operationsOf, type SampleRoute, sampleOf } from '../../../test/support/servers/api-samples.ts';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import type { MemberRole } from '../../schema/member.ts';
import { isAtLeast, memberRoles } from '../../schema/member-roles.ts';

/** Returns the status and error code of a response without reading a stream, which would not end by itself. */
const statusOf = async (address: string, init: RequestInit): Promise<{ status: number; code?: string }> => {
  const leaving = new AbortController();
  const response = await fetch(address, { ...init, signal: leaving.signal });
  const isProblem = response.headers.get('content-type') === 'application/problem+json';
  const code = isProblem ? ((await response.json()) as { code: string }).code : undefined;
  leaving.abort();
  return { status: response.status, ...(code !== undefined && { code }) };
};

test('[HTTP7] every route answers the roles that may use it and refuses the others, in their own workspace and in another one', async () => {
  const { server, keys, foreignKeys, json } = await startTestServer({ checksAnswers: false });
  const document = await json('/v1/openapi.json', { key: '' });
  const routes = operationsOf(document);
  expect(routes.length).toBeGreaterThan(60);
  const wrong: string[] = [];
  const check = (what: string, holds: boolean): void => {
    if (!holds) wrong.push(what);
  };
  const ask = (route: SampleRoute, own: Record<string, string>, key?: string) => {
    const { address, init } = sampleOf(route, own);
    const headers = { ...init.headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
    return statusOf(`${server.url}${address}`, { ...init, headers });
  };
  for (const route of routes) {
    const { id: session } = await json('/v1/sessions', { method: 'POST', body: {} });
    const needs = route['x-perdure-role'] as MemberRole;
    check(`${route.operationId} without a key`, (await ask(route, { session })).status === 401);
    for (const role of memberRoles) {
      const may = isAtLeast(role, needs);
      const own = await ask(route, { session }, keys[role]);
      const isAnswered = own.status !== 401 && own.code !== 'FORBIDDEN' && own.status < 500;
      const what = `${route.operationId} as ${role}`;
      check(`${what}: ${own.status} ${own.code}`, may ? isAnswered : own.code === 'FORBIDDEN');
      const foreign = await ask(route, { session }, foreignKeys[role]);
      const isHidden = route.path.includes('{session}') ? foreign.code === 'SESSION_NOT_FOUND' : foreign.status < 500;
      check(`${what} elsewhere: ${foreign.status} ${foreign.code}`, may ? isHidden : foreign.code === 'FORBIDDEN');
    }
  }
  expect(wrong).toEqual([]);
}, 120_000);

test('[HTTP7] every route accepts an admin key limited to its areas and refuses one that lacks an area', async () => {
  const { server, json } = await startTestServer({ checksAnswers: false });
  const routes = operationsOf(await json('/v1/openapi.json', { key: '' }));
  const tokens = new Map<string, string>();
  const tokenFor = async (areas: readonly string[]): Promise<string> => {
    const name = areas.join(' ');
    if (!tokens.has(name)) tokens.set(name, (await json('/v1/keys', { method: 'POST', body: { areas } })).token);
    return tokens.get(name)!;
  };
  const { id: session } = await json('/v1/sessions', { method: 'POST', body: {} });
  const wrong: string[] = [];
  for (const route of routes) {
    const { address, init } = sampleOf(route, { session });
    const own = route['x-perdure-areas'];
    if (own.length === 0) continue; // keys of every area may use this route
    const lacking = own.map((area) => [...own.filter((each) => each !== area), area === 'usage' ? 'agents' : 'usage']);
    for (const areas of [own, ...lacking]) {
      const headers = { ...init.headers, authorization: `Bearer ${await tokenFor(areas)}` };
      const { status, code } = await statusOf(`${server.url}${address}`, { ...init, headers });
      const isRight = areas === own ? code !== 'FORBIDDEN' && status < 500 : code === 'FORBIDDEN';
      if (!isRight) wrong.push(`${route.operationId} by ${areas}: ${status} ${code}`);
    }
  }
  expect(wrong).toEqual([]);
}, 120_000);
