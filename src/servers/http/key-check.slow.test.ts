import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import type { Authenticated } from '../../core/access/authenticate.ts';
import { keyCheck } from './key-check.ts';
import { serveDefaults } from './server.ts';

test('[HTTP5, HTTP20] the keys of a workspace share a rate of four times that of one key, and other workspaces have their own', async () => {
  const { ask, keys, foreignKeys, runtime } = await startTestServer({ rate: { perSecond: 0.001, burst: 2 } });
  const further = await Promise.all([1, 2].map(() => runtime.keys.create({ member: 'the-member' })));
  const asking = [...Object.values(keys), ...further.map(({ token }) => token)].flatMap((key) => [key, key]);
  const statuses: number[] = [];
  for (const key of asking) statuses.push((await ask('/v1/me', { key })).status);
  expect(statuses).toEqual([...Array(8).fill(200), ...Array(4).fill(429)]);
  const refused = await ask('/v1/me', { key: further[1]!.token });
  expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await ask('/v1/me', { key: foreignKeys.viewer })).status).toBe(200);
});

test('[HTTP5] a key has a limited number of streams: one more is refused with advice, and a stream that ends makes room', async () => {
  const { ask, keys } = await startTestServer({ streamsPerKey: 2 });
  const leaving = new AbortController();
  // The responses are kept in a list, because a response that is garbage-collected would end its stream.
  const held = [await ask('/v1/events'), await ask('/v1/events', { signal: leaving.signal })];
  const refused = await ask('/v1/events');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED', detail: expect.stringContaining('end some') });
  expect((await ask('/v1/me')).status).toBe(200);
  expect((await ask('/v1/events', { key: keys.member })).status).toBe(200);
  expect(held.map(({ status }) => status)).toEqual([200, 200]);
  leaving.abort();
  await expect.poll(async () => (await ask('/v1/events')).status, { timeout: 10_000 }).toBe(200);
});

test('[HTTP5] a wait for a run is counted as a stream', async () => {
  const { ask, json } = await startTestServer({ streamsPerKey: 1 }, {}, { hasWorker: false });
  const { id } = await json('/v1/sessions', { method: 'POST', body: { agent: { name: 'tester' } } });
  const { run } = await json(`/v1/sessions/${id}/runs`, { method: 'POST', body: { input: 'Go' } });
  const path = `/v1/sessions/${id}/runs/${run}`;
  const wait = () => ask(`${path}?wait=true`);
  const both = [wait(), wait()];
  expect((await Promise.race(both)).status).toBe(429);
  await json(`${path}/cancel`, { method: 'POST', body: {} });
  expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 429]);
  expect((await wait()).status).toBe(200);
});

test('[HTTP5, HTTP20] a workspace and a server have a limited number of streams, whatever keys open them', async () => {
  const { ask, keys, foreignKeys } = await startTestServer({ streams: { perWorkspace: 2, perServer: 3 } });
  const held = [await ask('/v1/events'), await ask('/v1/events', { key: keys.member })];
  const refused = await ask('/v1/events', { key: keys.viewer });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('limit of 2 open streams') });
  held.push(await ask('/v1/events', { key: foreignKeys.viewer }));
  expect(held.map(({ status }) => status)).toEqual([200, 200, 200]);
  const full = await ask('/v1/events', { key: foreignKeys.viewer });
  expect([full.status, full.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await full.json()).toMatchObject({ detail: expect.stringContaining('limit of 3 open streams') });
});

test('[HTTP33] the streams of a key share one check of it', async () => {
  let looked = 0;
  const found = { identity: { workspace: 'local' }, key: { id: 'key_1' } } as unknown as Authenticated;
  const authenticate = async () => {
    looked++;
    return found;
  };
  const rate = { perSecond: 1, burst: 1 };
  const keys = keyCheck({ authenticate }, { ...serveDefaults, rate, workspaceRate: rate, beatMs: 60_000 });
  const headers = new Headers({ authorization: 'Bearer pdk_something' });
  expect(await Promise.all(Array.from({ length: 100 }, () => keys.isValid(found, headers)))).toEqual(
    Array(100).fill(true),
  );
  expect(looked).toBe(1);
});

test('[HTTP39] an address beyond its limit of wrong keys causes no lookup, except for keys that were accepted lately', async () => {
  const looked: string[] = [];
  const valid = new Set(['pdk_accepted', 'pdk_fresh']);
  const authenticate = async (token: string) => {
    looked.push(token);
    return valid.has(token) ? ({ identity: {}, key: {} } as unknown as Authenticated) : undefined;
  };
  const outcomes: string[] = [];
  const wrongKeyRate = { perSecond: 0.001, burst: 2 };
  const keys = keyCheck({ authenticate }, { ...serveDefaults, wrongKeyRate }, (outcome) => outcomes.push(outcome));
  const ask = (token: string, address = '192.0.2.1') =>
    keys.mustFind(new Headers({ authorization: `Bearer ${token}` }), address).then(
      () => 'found',
      ({ code }) => code,
    );
  expect(await ask('pdk_accepted')).toBe('found');
  const answers = [await ask('pdk_a'), await ask('pdk_b'), await ask('pdk_c'), await ask('pdk_fresh')];
  expect(answers).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED', 'RATE_LIMITED', 'RATE_LIMITED']);
  expect(await ask('pdk_accepted')).toBe('found');
  expect(await ask('pdk_fresh', '192.0.2.2')).toBe('found');
  expect(looked).toEqual(['pdk_accepted', 'pdk_a', 'pdk_b', 'pdk_accepted', 'pdk_fresh']);
  valid.delete('pdk_accepted'); // revoked
  expect([await ask('pdk_accepted'), await ask('pdk_accepted')]).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
  expect(looked.filter((token) => token === 'pdk_accepted')).toHaveLength(3);
  expect(outcomes).toEqual(['rejected', 'rejected', 'limited', 'limited', 'limited', 'limited']);
});
