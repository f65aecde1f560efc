import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import { connect } from '../../client/index.ts';
import { StateView } from '../../schema/views/session.ts';

const waitingSession = async () => {
  const { runtime, server, keys, ask, json } = await startTestServer();
  const session = await runtime.sessions.open();
  await session.append({ role: 'user', content: 'Hello' });
  return { runtime, server, keys, ask, json, session, path: `/v1/sessions/${session.id}/state` };
};

test('[STWAIT2] HTTP and the client show the same as the library, whole or by path', async () => {
  const { server, keys, json, session, path } = await waitingSession();
  const { callId } = await session.beginCall({ tool: 'crawl', input: { url: 'x' } });
  const { waiting } = await session.state();
  expect(StateView.parse(await json(path)).waiting).toEqual(waiting);
  expect(await json(`${path}?path=/waiting/calls/${callId}/tool`)).toBe('crawl');
  expect((await json(`${path}?at=seq:1`)).waiting.calls).toEqual({});
  const client = await connect({ url: server.url, key: keys.member });
  const afar = await client.sessions.get(session.id);
  expect((await afar.state()).waiting).toEqual(waiting);
  expect(await afar.state({ path: `/waiting/calls/${callId}/what` })).toBe('{"url":"x"}');
});

test('[STWAIT3] neither a patch nor a function of the client can change the view', async () => {
  const { server, keys, ask, session, path } = await waitingSession();
  await session.beginCall({ tool: 'crawl', input: {} });
  const patch = [{ op: 'remove', path: '/waiting/calls' }];
  const refused = await ask(path, { method: 'PATCH', body: { patch } });
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain('waiting is computed when the state is read');
  const afar = await (await connect({ url: server.url, key: keys.member })).sessions.get(session.id);
  await afar.commit((draft) => {
    expect(draft).not.toHaveProperty('waiting');
    draft.facts.port = 1;
  });
  const forge = () => afar.commit((draft) => Object.assign(draft, { waiting: {} }));
  await expect(forge()).rejects.toMatchObject({ code: 'STATE_INVALID' });
  expect((await session.state()).facts).toEqual({ port: 1 });
  for (const at of [`/v1/sessions/${session.id}/commits`, '/v1/commits']) {
    expect((await ask(`${at}?path=/waiting/**`)).status).toBe(400);
  }
});

test('[STWAIT5, HTTP19] the ETag changes with what the session waits for, and still allows a commit', async () => {
  const { ask, session, path } = await waitingSession();
  const etag = (await ask(path)).headers.get('etag')!;
  expect((await ask(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
  await session.beginCall({ tool: 'crawl', input: {} });
  const changed = await ask(path, { headers: { 'if-none-match': etag } });
  expect(changed.status).toBe(200);
  expect(changed.headers.get('etag')).not.toBe(etag);
  const commit = (value: number, match: string) =>
    ask(path, {
      method: 'PATCH',
      body: { patch: [{ op: 'add', path: '/facts/a', value }] },
      headers: { 'if-match': match },
    });
  expect((await commit(1, etag)).status).toBe(200);
  expect((await commit(2, etag)).status).toBe(412);
  expect((await session.state()).facts).toEqual({ a: 1 });
});

test('[CARRY2, CARRY3] files are carried over HTTP and by the client, by a key that has the area files', async () => {
  const { server, keys, json, ask, session, runtime } = await waitingSession();
  await session.files.write('a.txt', 'one');
  const carryFrom = { session: session.id, files: true };
  const { id } = await json('/v1/sessions', { method: 'POST', body: { carryFrom } });
  const opened = await runtime.sessions.get(id);
  expect(Buffer.from(await opened.files.read('a.txt')).toString()).toBe('one');
  const client = await connect({ url: server.url, key: keys.member });
  const afar = await client.sessions.get(session.id);
  const next = await client.sessions.open({ carryFrom: { session: afar, files: true } });
  expect(Buffer.from(await next.files.read('a.txt')).toString()).toBe('one');
  expect(await (await client.sessions.open({ carryFrom: afar })).files.list()).toEqual([]);
  const { token } = await runtime.keys.create({ member: 'the-member', areas: ['sessions'] });
  const refused = await ask('/v1/sessions', { method: 'POST', body: { carryFrom }, key: token });
  expect(refused.status).toBe(403);
  expect((await ask('/v1/sessions', { method: 'POST', body: { carryFrom: session.id }, key: token })).status).toBe(201);
});
