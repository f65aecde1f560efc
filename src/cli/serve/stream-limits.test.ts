import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { callCli, callCliOn, recorder } from '../../../test/support/cli/call-cli.ts';
import { serveDefaults } from '../../servers/http/server.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { readKeptKey } from '../names/kept-key.ts';
import { parseStreamLimits } from './stream-limits.ts';

test('[HTTP35] without options, the limits of streams are those of serveHttp', () => {
  const { streamsPerKey, streams } = serveDefaults;
  expect(parseStreamLimits({})).toEqual({ streamsPerKey, streams });
});

test('[HTTP35] a lower limit of the server lowers those within it', () => {
  expect(parseStreamLimits({ 'max-streams': '500', 'max-streams-per-key': '7' })).toEqual({
    streamsPerKey: 7,
    streams: { perWorkspace: 500, perServer: 500 },
  });
});

test.each([
  [['--max-streams', '0'], '--max-streams is a whole number, 1 or more; got "0"'],
  [['--max-streams-per-key', 'many'], '--max-streams-per-key is a whole number'],
  [['--max-streams-per-workspace', '6000'], '--max-streams-per-workspace 6000 exceeds the 5000'],
])('[HTTP35] %j is refused and creates no store', async (given, problem) => {
  const { code, err } = await callCli(['serve', ...given], {
    openRuntime: () => Promise.reject(new Error('a store was created')),
  });
  expect({ code, err: err.replaceAll(/\s+/g, ' ') }).toEqual({ code: 2, err: expect.stringContaining(problem) });
});

test('[HTTP35] serve applies the limits that its options set', async () => {
  const data = mkdtempSync(join(tmpdir(), 'perdure-stream-limits-'));
  vi.stubEnv('PERDURE_DATA', data);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(data, { recursive: true });
  });
  const started = Promise.withResolvers<{ url: string }>();
  const stopping = Promise.withResolvers<() => void>();
  const out = { ...recorder(), write: async (text: string | Uint8Array) => started.resolve(JSON.parse(String(text))) };
  const args = ['serve', '--json', '--port', '0', '--no-worker', '--log', 'silent', '--max-streams-per-key', '1'];
  const ended = callCliOn(newMemoryDatabase(), args, {
    out,
    onInterrupt: (listener) => {
      stopping.resolve(() => listener('interrupt'));
      return () => {};
    },
  });
  const { url } = await Promise.race([started.promise, ended.then(({ err }) => Promise.reject(new Error(err)))]);
  const open = () => fetch(`${url}/v1/events`, { headers: { authorization: `Bearer ${readKeptKey(data)}` } });
  const first = await open();
  const second = await open();
  expect([first.status, second.status]).toEqual([200, 429]);
  expect(await second.json()).toMatchObject({ detail: expect.stringContaining('limit of 1 open streams') });
  await first.body!.cancel();
  (await stopping.promise)();
  expect(await ended).toMatchObject({ code: 0 });
});
