import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import { connect } from '../../client/index.ts';

const post = (body: unknown = {}) => ({ method: 'POST', body });

test('[HAND2, HAND11] over HTTP, only the holder or an admin acts, and everyone sees who holds the session', async () => {
  const { json, ask, keys } = await startTestServer();
  const { id } = await json('/v1/sessions', post({ agent: { name: 'tester' } }));
  const at = `/v1/sessions/${id}`;
  const to = { member: 'the-approver' };
  const handed = await json(`${at}/handoff`, post({ to, reason: 'above the limit' }));
  expect(handed).toMatchObject({
    holder: 'human',
    handoff: { ...to, by: 'member:the-admin', reason: 'above the limit' },
  });
  const messages = post({ messages: [{ role: 'user', content: 'Mine' }] });
  for (const [path, how] of [
    [`${at}/messages`, messages],
    [`${at}/handoff`, post({ to: 'agent' })],
  ] as const) {
    const answer = await ask(path, { ...how, key: keys.member });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: 'SESSION_HELD', details: { holder: 'member:the-approver' } });
  }
  const { approvals, handoffs } = await json('/v1/approvals', { key: keys.viewer });
  expect(approvals).toEqual([]);
  expect(handoffs).toEqual([{ session: id, ...handed.handoff }]);
  await json(`${at}/messages`, { ...messages, key: keys.approver });
  expect(await json(`${at}/handoff`, { ...post({ to: 'agent' }), key: keys.approver })).not.toHaveProperty('handoff');
});

test('[HAND1, HAND5, HAND11] the client has the same verbs and errors', async () => {
  const { server, keys } = await startTestServer();
  const [approver, member] = [keys.approver, keys.member].map((key) => connect({ url: server.url, key }));
  const { id } = await member!.sessions.open({ agent: { name: 'tester' } });
  const session = await member!.sessions.get(id);
  await expect(session.handoff({ to: { member: 'nobody' } })).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND' });
  await session.handoff({ to: { role: 'approver' } });
  const mine = session.append({ role: 'user', content: 'Mine' });
  await expect(mine).rejects.toMatchObject({ code: 'SESSION_HELD' });
  expect(await member!.approvals.handoffs()).toMatchObject([
    { session: id, role: 'approver', by: 'member:the-member' },
  ]);
  await (await approver!.sessions.get(id)).handoff({ to: 'agent', reason: 'Done' });
  expect(await member!.approvals.handoffs()).toEqual([]);
});
