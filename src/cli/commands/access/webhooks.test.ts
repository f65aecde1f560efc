import { expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { startReceiver } from '../../../../test/support/servers/webhook-receiver.ts';
import { openRuntime } from '../../../runtime.ts';
import { webhookEvents } from '../../../schema/webhook.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';

const commandLine = (allowPrivate = true) => {
  const database = newMemoryDatabase();
  const callIn = (columns: number | undefined, ...argv: readonly string[]) =>
    callCli([...argv, '--store', 'memory'], {
      ...(columns !== undefined && { columns }),
      openRuntime: (options) =>
        openRuntime({ worker: false, ...options, store: openMemoryStore(database), outbound: { allowPrivate } }),
    });
  const call = (...argv: readonly string[]) => callIn(undefined, ...argv);
  const json = async (...argv: readonly string[]) => JSON.parse((await call(...argv, '--json')).out);
  return { call, callIn, json };
};

test('[CLIM3] webhooks can be added, tested, listed with their deliveries and removed, and the secret is shown once', async () => {
  const { call, json } = commandLine();
  const receiver = await startReceiver((response, _, count) => {
    response.statusCode = count === 1 ? 200 : 500;
    response.end();
  });
  expect((await call('webhooks', 'ls')).out).toContain('no webhooks yet');
  const added = await call('webhooks', 'add', receiver.url, '--event', 'run.ended');
  expect(added.out).toMatch(/^whsec_\S+\n$/);
  const [id] = /whk_\w+/.exec(added.err)!;
  const other = await json('webhooks', 'add', receiver.url);
  expect(other.webhook.events).toEqual(webhookEvents);
  expect((await json('webhooks', 'ls')).webhooks).toEqual([
    { id, url: receiver.url, events: ['run.ended'], createdAt: expect.any(Number) },
    other.webhook,
  ]);
  expect((await call('webhooks', 'deliveries', id)).out).toBe('nothing has been sent yet\n');
  expect(await call('webhooks', 'test', id)).toMatchObject({ code: 0, out: expect.stringContaining('delivered') });
  expect(await call('webhooks', 'test', id)).toMatchObject({ code: 1, out: expect.stringContaining('answered 500') });
  const page = await json('webhooks', 'deliveries', id, '--limit', '1');
  expect(page).toMatchObject({ deliveries: [{ status: 'failed', message: { type: 'webhook.test' } }] });
  const table = (await call('webhooks', 'deliveries', id)).out;
  expect(table.split('\n').filter((line) => line.includes('webhook.test'))).toHaveLength(2);
  expect((await call('webhooks', 'rm', id)).code).toBe(0);
  expect(await call('webhooks', 'rm', id)).toMatchObject({
    code: 5,
    err: expect.stringContaining('WEBHOOK_NOT_FOUND'),
  });
  const shown = (await call('webhooks', 'ls')).out;
  expect(shown).toContain(other.webhook.id.slice(-8));
  expect(shown).not.toContain('whsec_');
});

test('[CLIM3] webhooks can be changed, disabled, enabled and rotated, and deliveries can be sent again', async () => {
  const { call, json } = commandLine();
  const receiver = await startReceiver((response) => void response.writeHead(500).end());
  const { webhook, secret } = await json('webhooks', 'add', receiver.url);
  const url = `${receiver.url}new`;
  expect(await json('webhooks', 'set', webhook.id, '--url', url, '--event', 'run.ended')).toEqual({
    ...webhook,
    url,
    events: ['run.ended'],
  });
  expect((await call('webhooks', 'set', webhook.id)).code).toBe(2);
  expect((await call('webhooks', 'set', webhook.id, '--event', 'run.began')).code).toBe(2);
  expect((await call('webhooks', 'disable', webhook.id)).out).toBe(`${webhook.id} is disabled\n`);
  expect((await json('webhooks', 'ls')).webhooks).toMatchObject([{ disabledBecause: 'a member disabled it' }]);
  expect((await call('webhooks', 'enable', webhook.id)).out).toBe(`${webhook.id} is enabled\n`);
  const rotated = await call('webhooks', 'rotate', webhook.id);
  expect(rotated.out).toMatch(/^whsec_\S+\n$/);
  expect(rotated.out.trim()).not.toBe(secret);
  expect(rotated.err).toContain(webhook.id);
  const { id } = await json('webhooks', 'test', webhook.id);
  expect(await json('webhooks', 'redeliver', id)).toMatchObject({ id, status: 'pending' });
  for (const [verb, unknown] of [
    ['enable', 'whk_01jd3v8m9k5x7q2w4e6r8t0y1a'],
    ['redeliver', `${webhook.id}.zzz`],
  ] as const) {
    expect((await call('webhooks', verb, unknown)).code, verb).not.toBe(0);
  }
});

test('[CLIM3, HOOK8] a forbidden webhook address is reported as a wrong call', async () => {
  const { call } = commandLine(false);
  expect((await call('webhooks', 'add', 'http://127.0.0.1:1/')).code).toBe(2);
  expect((await call('webhooks', 'add', 'https://example.org/', '--event', 'run.began')).code).toBe(2);
});

test('[CLI21] a terminal shows only the end of delivery ids, which commands accept, and a pipe shows whole ids', async () => {
  const { callIn, json } = commandLine();
  const receiver = await startReceiver();
  const { webhook } = await json('webhooks', 'add', receiver.url);
  const { id } = await json('webhooks', 'test', webhook.id);
  const idIn = ({ out }: { readonly out: string }) => out.split('\n')[1]!.split(' ')[0]!;
  const listing = ['webhooks', 'deliveries', webhook.id];
  expect(idIn(await callIn(Number.POSITIVE_INFINITY, ...listing))).toBe(id);
  const shown = idIn(await callIn(120, ...listing));
  expect(shown.length).toBeLessThan(id.length);
  expect(id.endsWith(shown)).toBe(true);
  expect(await json('webhooks', 'redeliver', shown)).toMatchObject({ id });
});

test('[CLIM3, HOOK16] webhooks add and set take the paths that state.untrusted covers', async () => {
  const { call, json } = commandLine();
  const url = 'https://example.org/hooks';
  const { webhook } = await json('webhooks', 'add', url, '--watch', '/own/**', '--watch', '/facts/port');
  expect(webhook).toMatchObject({ watch: ['/own/**', '/facts/port'] });
  expect(await json('webhooks', 'set', webhook.id, '--watch', '/plan/*')).toMatchObject({ watch: ['/plan/*'] });
  expect((await call('webhooks', 'add', url, '--event', 'run.ended', '--watch', '/own/**')).code).not.toBe(0);
  expect((await call('webhooks', 'add', url, '--watch', 'facts')).code).not.toBe(0);
  expect((await call('webhooks', 'set', webhook.id)).code).toBe(2);
});
