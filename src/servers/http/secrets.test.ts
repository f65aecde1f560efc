import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { operationsOf, sampleOf } from '../../../test/support/servers/api-samples.ts';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import { newSqliteFile } from '../../../test/support/stores/sqlite-file.ts';
import { defineAgent, defineScript, defineTool } from '../../index.ts';
import { startObserving } from '../observe/index.ts';

/** Another service, which a tool calls with a secret. */
const startService = async () => {
  const asked: (string | undefined)[] = [];
  const service = createServer((request, response) => {
    asked.push(request.headers['x-token'] as string | undefined);
    response.end('known');
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  onTestFinished(() => void service.close());
  return { asked, url: `http://127.0.0.1:${(service.address() as AddressInfo).port}` };
};

/** The value in every encoding in which it could leak. For a plain value all encodings are the same. */
const formsOf = (value: string): readonly string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  Buffer.from(value).toString('base64').slice(0, 20),
];

test("[RED9] no vault value and no key appears in an answer, a stream, the log, a metric or a file, only in the tool's own request", async () => {
  const value = `planted "${randomBytes(12).toString('hex')}" é/+`;
  const service = await startService();
  const leak = defineTool({
    name: 'leak',
    description: 'Calls a service and returns everything it knows.',
    input: z.object({}),
    effects: 'none',
    secrets: ['service'],
    execute: async (_, { secrets, progress }) => {
      await fetch(service.url, { headers: { 'x-token': encodeURIComponent(secrets.service) } });
      for (const letter of secrets.service) progress(letter);
      return { said: secrets.service, encoded: encodeURIComponent(secrets.service) };
    },
  });
  const script = defineScript({
    name: 'leaking',
    everyTurn: true,
    steps: [{ calls: [{ tool: 'leak', input: {} }] }, { text: `It is ${value}.` }],
  });
  const agent = defineAgent({
    name: 'leaking',
    version: 1,
    model: script,
    instructions: 'Leak.',
    tools: [leak],
  });
  const lines: string[] = [];
  const file = newSqliteFile();
  const masterKey = randomBytes(32).toString('base64');
  const { runtime: observed, server: options } = await startObserving({
    env: {},
    level: 'trace',
    write: (line) => lines.push(line),
  });
  const { ask, json, keys } = await startTestServer(options, {
    ...observed,
    store: `sqlite:${file}`,
    masterKey,
    agents: [agent],
  });
  await json('/v1/secrets/service', { method: 'PUT', body: { value } });
  const { token, key } = await json('/v1/keys', { method: 'POST', body: { role: 'member' } });
  const hook = { url: 'https://example.org/hook', events: ['run.ended'] };
  const { secret: signing, webhook } = await json('/v1/webhooks', { method: 'POST', body: hook });
  expect(signing).toMatch(/^whsec_/);

  const output: string[] = [];
  const body = { agent: { name: 'leaking' }, title: `About ${value}`, metadata: { [value]: value } };
  const { id: session } = await json('/v1/sessions', { method: 'POST', body });
  const path = `/v1/sessions/${session}`;
  const leaving = new AbortController();
  const listen = async (address: string) => {
    const response = await ask(address, { signal: leaving.signal });
    try {
      for await (const chunk of response.body!.pipeThrough(
        new TextDecoderStream(),
      ) as unknown as AsyncIterable<string>) {
        output.push(chunk);
      }
    } catch {} // the stream was aborted
  };
  const streams = [`${path}/events`, '/v1/events?after=0'].map(listen);
  const { run } = await json(`${path}/runs`, { method: 'POST', body: { input: `Keep ${value} to yourself` } });
  streams.push(listen(`${path}/runs/${run}/stream`));
  expect(await json(`${path}/runs/${run}?wait=true`)).toMatchObject({ status: 'succeeded' });
  const patch = [{ op: 'add', path: '/facts/output', value: { deep: [value] } }];
  await json(`${path}/state`, { method: 'PATCH', body: { patch, why: value } });
  // Refused requests must not reach the log either.
  await ask(`${path}/files/content?path=${encodeURIComponent(value)}`, { method: 'PUT', body: value });
  await ask(`/v1/sessions/${encodeURIComponent(value)}?${encodeURIComponent(value)}=1`, {
    headers: { 'x-request-id': token },
  });
  await ask(`${path}/messages`, {
    method: 'POST',
    body: { messages: [{ role: 'user', content: 'a' }] },
    headers: { 'idempotency-key': encodeURIComponent(value) },
  });

  const document = await json('/v1/openapi.json', { key: '' });
  const own = { session, run, key: key.id, webhook: webhook.id };
  const isStream = (address: string): boolean => address.endsWith('/events');
  for (const route of operationsOf(document).filter(({ method }) => method === 'GET')) {
    const { address } = sampleOf(route, own);
    const answer = await ask(isStream(address) && address.includes('/sessions/') ? `${address}?after=0` : address, {
      signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(isStream(address) ? 300 : 10_000)]),
    });
    const text = await answer.text().catch(() => '');
    output.push(`${route.operationId} ${text}`, JSON.stringify([...answer.headers]));
  }
  output.push(await (await ask('/metrics', { key: '' })).text());
  leaving.abort();
  await Promise.all(streams);

  expect(service.asked).toEqual([encodeURIComponent(value)]);
  expect(output.join('')).toContain('[secret service]');
  expect(lines.length).toBeGreaterThan(50);
  const files = readdirSync(dirname(file), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const places: Readonly<Record<string, readonly string[]>> = {
    answer: output,
    log: lines,
    file: files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')),
  };
  const secrets = { value, masterKey, token, admin: keys.admin, signing };
  const found = Object.entries(places).flatMap(([place, texts]) =>
    Object.entries(secrets).flatMap(([name, secret]) =>
      formsOf(secret)
        .filter((form) => texts.some((text) => text.includes(form)))
        .map((form) => `${name} in ${place}: ${form}`),
    ),
  );
  expect(found).toEqual([]);
});
