import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import { startReceiver } from '../../../test/support/servers/webhook-receiver.ts';

const post = (body: unknown = {}) => ({ method: 'POST', body });

test('[HTTP7] a member of another workspace who knows every id can neither read nor change anything', async () => {
  const receiver = await startReceiver();
  const { json, ask, foreignKeys } = await startTestServer({}, { outbound: { allowPrivate: true } });
  const { id } = await json('/v1/sessions', post({ agent: { name: 'tester' }, title: 'Ours' }));
  const session = `/v1/sessions/${id}`;
  const { run } = await json(`${session}/runs`, post({ input: 'Go' }));
  await json(`${session}/runs/${run}?wait=true`);
  await json(`${session}/artifacts/kept.txt`, { method: 'PUT', headers: { 'content-type': 'text/plain' } });
  await json('/v1/members', post({ id: 'ada' }));
  const { key } = await json('/v1/keys', post({ member: 'ada' }));
  await json('/v1/secrets/ours', { method: 'PUT', body: { value: 'a-value-of-ours' } });
  const { webhook } = await json('/v1/webhooks', post({ url: receiver.url, events: ['run.ended'] }));
  const delivery = await json(`/v1/webhooks/${webhook.id}/test`, post());
  const before = await json('/v1/audit?limit=1000');

  const neighbour = { key: foreignKeys.admin };
  const own = await json('/v1/sessions', { ...post(), ...neighbour });
  const mine = `/v1/sessions/${own.id}`;
  const asked: readonly (readonly [string, object])[] = [
    [session, {}],
    [`${session}/events?follow=false`, {}],
    [`${session}/runs/${run}`, {}],
    [`${mine}/runs/${run}`, {}],
    [`${mine}/runs/${run}/cancel`, post()],
    [`${session}/artifacts/kept.txt`, {}],
    [`${session}/export`, {}],
    [`/v1/export?session=${id}`, {}],
    [`/v1/export?session=${own.id}&session=${id}`, {}],
    ['/v1/sessions', post({ carryFrom: id })],
    [`${mine}/adopt`, post({ branch: id })],
    [`${mine}/diff?from=seq:1&to=${id}@seq:2`, {}],
    [`${mine}/files/diff?from=seq:1&to=${id}@seq:2`, {}],
    [`${mine}/files/changes?from=seq:1&to=${id}`, {}],
    [`${mine}/files/restore`, post({ to: { session: id } })],
    ['/v1/members/ada', { method: 'PATCH', body: { role: 'admin' } }],
    ['/v1/members/ada', { method: 'DELETE' }],
    ['/v1/keys', post({ member: 'ada' })],
    [`/v1/keys/${key.id}/rotate`, post()],
    [`/v1/keys/${key.id}`, { method: 'DELETE' }],
    ['/v1/secrets/ours', { method: 'DELETE' }],
    [`/v1/webhooks/${webhook.id}`, { method: 'PATCH', body: { enabled: false } }],
    [`/v1/webhooks/${webhook.id}`, { method: 'DELETE' }],
    [`/v1/webhooks/${webhook.id}/rotate`, post()],
    [`/v1/webhooks/${webhook.id}/test`, post()],
    [`/v1/webhooks/${webhook.id}/deliveries`, {}],
    [`/v1/deliveries/${delivery.id}/redeliver`, post()],
  ];
  const statuses = await Promise.all(
    asked.map(async ([path, how]) => {
      const answer = await ask(path, { ...how, ...neighbour });
      expect(await answer.text()).not.toContain('Ours');
      return `${path} ${answer.status}`;
    }),
  );
  expect(statuses).toEqual(asked.map(([path]) => `${path} 404`));
  const lists = [
    '/v1/sessions',
    '/v1/usage',
    '/v1/tool-calls',
    '/v1/runs',
    '/v1/commits',
    '/v1/approvals',
    '/v1/members',
  ];
  const seen = await Promise.all(
    [...lists, '/v1/keys', '/v1/secrets', '/v1/webhooks', '/v1/audit'].map((path) => json(path, neighbour)),
  );
  for (const ours of [id, run, key.id, webhook.id, '"ada"', '"ours"']) {
    expect(JSON.stringify(seen.slice(0, -1))).not.toContain(ours);
  }
  expect(await json('/v1/audit?limit=1000')).toEqual({
    ...before,
    entries: [
      expect.objectContaining({ verb: 'audit.list' }),
      ...before.entries.map((entry: object) => ({ ...entry, outcome: 'done' })),
    ],
  });
  expect(await json(session)).toMatchObject({ title: 'Ours' });
}, 60_000);
