import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import { connect } from '../../client/index.ts';

const open = { method: 'POST', body: { agent: { name: 'tester' } } };

test('[QUO12] a refusal is 429, with Retry-After if waiting helps, and 403 for what a quota excludes', async () => {
  const { ask, json, runtime } = await startTestServer({}, {}, { hasWorker: false });
  const [first, second] = [await json('/v1/sessions', open), await json('/v1/sessions', open)];
  await runtime.workspaces.setQuota('local', { sessions: 2, runs: 1 });
  const full = await ask('/v1/sessions', open);
  expect([full.status, full.headers.get('retry-after')]).toEqual([429, null]);
  expect(await full.json()).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    detail: expect.stringContaining('the operator of this store can change it'),
    details: { quota: 'sessions', used: 2, limit: 2, changedBy: 'operator' },
  });
  const send = { method: 'POST', body: { input: 'Go' } };
  await json(`/v1/sessions/${first.id}/runs`, send);
  const busy = await ask(`/v1/sessions/${second.id}/runs`, send);
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '5']);
  expect(await busy.json()).toMatchObject({ code: 'QUOTA_EXCEEDED', details: { quota: 'runs' } });
  await runtime.workspaces.setQuota('local', { agents: ['other'] });
  const excluded = await ask('/v1/sessions', open);
  expect(excluded.status).toBe(403);
  expect(await excluded.json()).toMatchObject({ code: 'QUOTA_EXCLUDED', details: { allowed: ['other'] } });
});

test('[QUO13] over HTTP, an admin sets the quotas of members, and nobody that of the workspace', async () => {
  const { server, keys, runtime, ask } = await startTestServer();
  await runtime.workspaces.setQuota('local', { sessions: 100 });
  const [admin, member] = [keys.admin, keys.member].map((key) => connect({ url: server.url, key }));
  expect(await admin!.quotas.set({ runs: 2 })).toMatchObject({ of: 'members', limits: { runs: 2 } });
  expect(await admin!.quotas.set({ runs: 3 }, { member: 'the-member' })).toMatchObject({ member: 'the-member' });
  expect(await admin!.quotas.list()).toMatchObject({
    quotas: [{ of: 'workspace' }, { of: 'members' }, { of: 'member', member: 'the-member' }],
  });
  expect(await member!.quotas.mine()).toMatchObject({ limits: { runs: 3 }, used: { sessions: 0 } });
  await expect(member!.quotas.set({ runs: 9 })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await expect(member!.quotas.list()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await admin!.quotas.remove({ member: 'the-member' });
  await admin!.quotas.remove();
  expect((await admin!.quotas.list()).quotas).toHaveLength(1);
  for (const path of ['/v1/quotas/workspace', '/v1/quotas']) {
    expect((await ask(path, { method: 'PUT', body: { sessions: 1000 } })).status).toBeGreaterThanOrEqual(404);
  }
});

test('[QUO15] a workspace and a member have limited streams, and a stream that ends makes room', async () => {
  const { ask, keys, foreignKeys, runtime } = await startTestServer();
  await runtime.workspaces.setQuota('local', { streams: 2 });
  await runtime.quotas.set({ streams: 1 });
  const leaving = new AbortController();
  const stream = (key: string, signal?: AbortSignal) => ask('/v1/events', { key, ...(signal && { signal }) });
  const held = [await stream(keys.member, leaving.signal), await stream(keys.viewer)];
  expect(held.map(({ status }) => status)).toEqual([200, 200]);
  await runtime.workspaces.setQuota('local', { streams: 3 });
  const own = await stream(keys.member);
  expect([own.status, own.headers.get('retry-after')]).toEqual([429, '5']);
  expect(await own.json()).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    detail: expect.stringContaining('an admin of local can change it'),
    details: { quota: 'streams', member: 'the-member', used: 1, limit: 1 },
  });
  await runtime.workspaces.setQuota('local', { streams: 2 });
  const whole = await stream(keys.admin);
  expect(whole.status).toBe(429);
  expect(await whole.json()).toMatchObject({ details: { quota: 'streams', used: 2, limit: 2, changedBy: 'operator' } });
  expect((await stream(foreignKeys.viewer)).status).toBe(200);
  leaving.abort();
  await expect.poll(async () => (await stream(keys.admin)).status, { timeout: 10_000 }).toBe(200);
});

test('[QUO16] an upload beyond the quota of bytes is 429, and writes nothing', async () => {
  const { server, keys, runtime } = await startTestServer({}, {}, { hasWorker: false });
  await runtime.workspaces.setQuota('local', { bytes: 100_000 });
  const session = await connect({ url: server.url, key: keys.member }).sessions.open({ agent: { name: 'tester' } });
  await session.files.write('small.txt', 'x'.repeat(10_000));
  const upload = fetch(`${server.url}/v1/sessions/${session.id}/files/content?path=large.txt`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${keys.member}`, 'content-type': 'application/octet-stream' },
    body: 'y'.repeat(95_000),
  });
  expect((await upload).status).toBe(429);
  expect(await (await upload).json()).toMatchObject({ code: 'QUOTA_EXCEEDED', details: { quota: 'bytes' } });
  expect((await session.files.list()).map(({ path }) => path)).toEqual(['small.txt']);
});
