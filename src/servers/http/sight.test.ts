import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';

const post = (body: unknown = {}) => ({ method: 'POST', body });
const json = async (response: Response) => [response.status, await response.json()] as const;

/** A server with a session of `the-member` that `the-viewer` reads. */
const start = async () => {
  const server = await startTestServer({}, {}, { hasWorker: false });
  const owner = { key: server.keys.member };
  const session = await server.json('/v1/sessions', { ...post({ agent: { name: 'tester' } }), ...owner });
  const hide = () => server.json(`/v1/sessions/${session.id}/share`, { ...post({ visibility: 'private' }), ...owner });
  return { ...server, owner, path: `/v1/sessions/${session.id}`, id: session.id as string, hide };
};

test('[SEE8] an event stream ends at the next beat when its caller no longer sees the session', async () => {
  const { ask, path, keys, hide } = await start();
  const stream = await ask(`${path}/events`, { key: keys.viewer });
  expect(stream.status).toBe(200);
  await hide();
  const text = await stream.text();
  expect(text).not.toContain('session.shared');
});

test('[SEE8] a wait for a run fails as if there were no session when its caller no longer sees it', async () => {
  const { ask, json: must, path, keys, hide, owner } = await start();
  const { run } = await must(`${path}/runs`, { ...post({ input: 'Go' }), ...owner });
  const waiting = ask(`${path}/runs/${run}?wait=true`, { key: keys.viewer });
  await hide();
  expect(await json(await waiting)).toMatchObject([404, { code: 'SESSION_NOT_FOUND' }]);
});

test('[SEE8] a stream ends when the reach of its member is lowered', async () => {
  const { ask, json: must, keys } = await start();
  const stream = await ask('/v1/events', { key: keys.viewer });
  await must('/v1/members/the-viewer', { method: 'PATCH', body: { reach: 'own' } });
  expect(await stream.text()).toContain('watching');
  expect(await must('/v1/me', { key: keys.viewer })).toMatchObject({ reach: 'own' });
});

test('[SEE8] a kept answer is not repeated for a session that its caller no longer sees', async () => {
  const { ask, path, hide, json: must } = await start();
  await must('/v1/members', post({ id: 'zoe' }));
  const { token } = await must('/v1/keys', post({ member: 'zoe' }));
  const keyed = {
    ...post({ title: 'What zoe wrote' }),
    method: 'PATCH',
    headers: { 'idempotency-key': 'k1' },
    key: token as string,
  };
  expect((await ask(path, keyed)).status).toBe(200);
  await hide();
  expect(await json(await ask(path, keyed))).toMatchObject([404, { code: 'SESSION_NOT_FOUND' }]);
});

test('[SEE4] the lower reach of a key and its member applies, and a key cannot reach beyond either', async () => {
  const { ask, json: must, path } = await start();
  await must('/v1/members', post({ id: 'far' }));
  await must('/v1/members', post({ id: 'near', reach: 'own' }));
  const narrow = (await must('/v1/keys', post({ member: 'far', reach: 'own' }))).token as string;
  const wide = (await must('/v1/keys', post({ member: 'far' }))).token as string;
  expect((await ask(path, { key: wide })).status).toBe(200);
  expect((await ask(path, { key: narrow })).status).toBe(404);
  expect((await ask('/v1/keys', post({ member: 'near', reach: 'workspace' }))).status).toBe(400);
  const near = await must('/v1/keys', post({ member: 'near' }));
  expect(near.key.reach).toBe('own');
  await must('/v1/members/far', { method: 'PATCH', body: { reach: 'own' } });
  expect((await ask(path, { key: wide })).status).toBe(404);
});

test('[SEE8] a kept answer is not repeated for a fork that its caller no longer sees', async () => {
  const { ask, path, json: must, owner } = await start();
  await must('/v1/members', post({ id: 'zoe' }));
  const { token: key } = await must('/v1/keys', post({ member: 'zoe' }));
  const keyed = { ...post({ title: 'A' }), headers: { 'idempotency-key': 'k1' }, key: key as string };
  const fork = await must(`${path}/fork`, keyed);
  expect((await ask(`${path}/fork`, keyed)).status).toBe(201);
  await must(`/v1/sessions/${fork.id}/share`, { ...post({ visibility: 'private' }), ...owner });
  expect(await json(await ask(`${path}/fork`, keyed))).toMatchObject([404, { code: 'SESSION_NOT_FOUND' }]);
});
