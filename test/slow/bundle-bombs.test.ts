import { expect, test } from 'vitest';
import { bundleBomb, mebibyte } from '../support/stores/bundle-bomb.ts';
import { ServerProcess } from './server-process.ts';

const importInto = (server: ServerProcess, body: Buffer, signal?: AbortSignal): Promise<Response> =>
  fetch(`${server.url}/v1/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/octet-stream' },
    body: body as never,
    ...(signal && { signal }),
  });

const ask = (server: ServerProcess, path: string): Promise<Response> =>
  fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${server.key}` } });

const codeOf = async (answer: Response): Promise<string> => ((await answer.json()) as { code: string }).code;

test.each([
  ['contents above the size limit', { contents: 2, mebibytes: 400 }],
  ['many contents', { contents: 16, mebibytes: 32 }],
])(
  '[BUN6, HTTP14] a bundle of some kilobytes that expands to %s takes bounded memory and delays no other request',
  async (_, bomb) => {
    const server = await ServerProcess.start();
    const body = await bundleBomb(bomb);
    expect(body.length).toBeLessThan(mebibyte);
    const before = server.peakBytes();
    const importing = importInto(server, body);
    let isOver = false;
    importing.finally(() => {
      isOver = true;
    });
    let longestMs = 0;
    while (!isOver) {
      const began = performance.now();
      const answer = await ask(server, server.session);
      await answer.json();
      longestMs = Math.max(longestMs, performance.now() - began);
      expect(answer.status).toBe(200);
    }
    expect(await codeOf(await importing)).toBe('BUNDLE_INVALID');
    expect(server.peakBytes() - before).toBeLessThan(300 * mebibyte);
    expect(longestMs).toBeLessThan(2000);
  },
);

test('[HTTP14] an import ends when its client disconnects, and until then its workspace accepts no other import', async () => {
  const server = await ServerProcess.start();
  const body = await bundleBomb({ contents: 30, mebibytes: 32 });
  const client = new AbortController();
  const left = importInto(server, body, client.signal).catch((error: Error) => error.name);
  const small = Buffer.from('no bundle\n');
  await expect.poll(async () => (await ask(server, '/v1/audit')).text()).toContain('sessions.import');
  expect(await codeOf(await importInto(server, small))).toBe('STORE_BUSY');
  client.abort();
  expect(await left).toBe('AbortError');
  const began = performance.now();
  await expect.poll(async () => codeOf(await importInto(server, small)), { timeout: 30_000 }).toBe('BUNDLE_INVALID');
  expect(performance.now() - began).toBeLessThan(2000);
});
