import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import { connect } from '../../client/index.ts';

const post = (body: unknown = {}) => ({ method: 'POST', body });

/** A server-side key that makes tokens, and a customer. */
const start = async () => {
  let now = Date.now();
  const server = await startTestServer({}, { clock: { now: () => now } }, { hasWorker: false });
  await server.json('/v1/members', post({ id: 'customer', reach: 'own' }));
  const areas = ['tokens', 'sessions', 'files'];
  const parent = await server.json('/v1/keys', post({ areas }));
  const make = async (body: object = {}) => {
    const asked = { ...post({ member: 'customer', ...body }), key: parent.token as string };
    return server.json('/v1/tokens', asked);
  };
  const works = async (token: string) => (await server.ask('/v1/me', { key: token })).status === 200;
  const pass = (ms: number) => {
    now += ms;
  };
  return { ...server, parent, make, works, pass };
};

test('[TOK1, TOK2] a token acts as one member, within its areas and reach, for 15 minutes and an hour at most', async () => {
  const { ask, json, make, works, pass } = await start();
  const { key, token } = await make();
  expect(await json('/v1/me', { key: token })).toMatchObject({
    member: 'customer',
    reach: 'own',
    role: 'member',
    areas: ['sessions', 'files'],
  });
  expect(key.expiresAt - key.createdAt).toBe(15 * 60_000);
  const { id } = await json('/v1/sessions', { ...post(), key: token });
  expect((await ask(`/v1/sessions/${id}`, { key: token })).status).toBe(200);
  expect((await ask('/v1/usage', { key: token })).status).toBe(403);
  expect((await ask('/v1/me', { key: '', headers: {} })).status).toBe(401);
  expect((await ask(`/v1/me?token=${token}`, { key: '' })).status, 'never in an address').toBe(401);
  await expect(make({ expiresInMs: 3_600_001 })).rejects.toThrow('400');
  pass(15 * 60_000);
  expect(await works(token)).toBe(false);
});

test('[TOK3] a token ends when its parent key is revoked, rotated or expired, or its member removed', async () => {
  const { json, make, works, parent } = await start();
  const ends = async (end: () => Promise<unknown>) => {
    const { token } = await make();
    expect(await works(token)).toBe(true);
    await end();
    expect(await works(token)).toBe(false);
  };
  await ends(async () => {
    await json('/v1/members/customer', { method: 'DELETE' });
    await json('/v1/members', post({ id: 'customer', reach: 'own' }));
  }).catch(() => undefined);
  const first = await make();
  await json(`/v1/keys/${parent.key.id}/rotate`, post());
  expect(await works(first.token)).toBe(false);
});

test('[TOK2] a token can do no more than its parent key and its member, and makes neither keys nor tokens', async () => {
  const { ask, make, json } = await start();
  for (const wider of [{ role: 'admin' }, { reach: 'workspace' }, { areas: ['usage'] }]) {
    await expect(make(wider)).rejects.toThrow('403');
  }
  const { token } = await make({ areas: ['sessions'] });
  expect((await ask('/v1/tokens', { ...post({ member: 'customer' }), key: token })).status).toBe(403);
  await json('/v1/members', post({ id: 'boss', role: 'admin' }));
  const all = await json('/v1/keys', post());
  const admin = await json('/v1/tokens', { ...post({ member: 'boss', areas: ['tokens', 'keys'] }), key: all.token });
  expect((await ask('/v1/tokens', { ...post({ member: 'boss' }), key: admin.token })).status).toBe(403);
  expect((await ask('/v1/keys', { ...post(), key: admin.token })).ok).toBe(false);
});

test('[TOK4] a token that names sessions reaches no other one, and opens and forks none', async () => {
  const { ask, json, make } = await start();
  const { token: wide } = await make();
  const [named, other] = [
    await json('/v1/sessions', { ...post(), key: wide }),
    await json('/v1/sessions', { ...post(), key: wide }),
  ];
  const { token: key } = await make({ sessions: [named.id] });
  expect((await ask(`/v1/sessions/${named.id}`, { key })).status).toBe(200);
  expect((await ask(`/v1/sessions/${other.id}`, { key })).status).toBe(404);
  expect((await json('/v1/sessions', { key })).sessions).toMatchObject([{ id: named.id }]);
  expect((await ask('/v1/sessions', { ...post(), key })).status).toBe(403);
  expect((await ask(`/v1/sessions/${named.id}/fork`, { ...post(), key })).status).toBe(403);
});

test('[TOK5] a stream ends when its token expires, and a client asks its function for the next token', async () => {
  const { ask, make, pass, server } = await start();
  const tokens = [await make(), await make({ expiresInMs: 3_600_000 })].map(({ token }) => token as string);
  const stream = await ask('/v1/events', { key: tokens[0]! });
  let asked = 0;
  const client = connect({ url: server.url, key: async () => tokens[Math.min(asked++, 1)]! });
  expect(await client.members.me()).toMatchObject({ member: 'customer' });
  pass(15 * 60_000);
  expect(await stream.text()).toContain('watching');
  expect(await client.members.me()).toMatchObject({ member: 'customer' });
  expect(asked).toBe(2);
});
