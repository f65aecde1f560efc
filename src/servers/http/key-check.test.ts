import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';

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
