import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { callCliOn, recorder } from '../../../test/support/cli/call-cli.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { readKeptKey } from '../names/kept-key.ts';
import type { Interrupt } from '../parse/command.ts';

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'perdure-greeting-'));
  vi.stubEnv('PERDURE_DATA', data);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(data, { recursive: true });
});

/** Starts a server, sends a request with the saved key after the greeting, and stops the server. */
const greeted = async (database: ReturnType<typeof newMemoryDatabase>, columns: number, ...more: readonly string[]) => {
  const greeting = Promise.withResolvers<string>();
  const out = {
    ...recorder(columns),
    write: async (text: string | Uint8Array) => greeting.resolve(stripVTControlCharacters(String(text))),
  };
  let stop: (interrupt: Interrupt) => void = () => {};
  const serving = callCliOn(database, ['serve', '--port', '0', ...more], {
    columns,
    out,
    program: './bin/perdure',
    onInterrupt: (listener) => {
      stop = listener;
      return () => {};
    },
  });
  const said = await greeting.promise;
  const url = / at (http:\S+)/.exec(said)?.[1];
  const answer = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${readKeptKey(data)}` } });
  stop('interrupt');
  const { err } = await serving;
  return { url, said, err, status: answer.status };
};

test('[START3] every start prints three commands with the saved key, and on a terminal no log lines interrupt the greeting', async () => {
  const database = newMemoryDatabase();
  const first = await greeted(database, 80);
  const again = await greeted(database, Number.POSITIVE_INFINITY);
  for (const { said, url, status } of [first, again]) {
    expect(status).toBe(200);
    expect(said).toContain('demo is a script, not a model');
    expect(said).toContain(`the admin key is in ${data}/api-key`);
    const there = `--server ${url} --key-file ${data}/api-key`;
    expect(said.match(/^ {2}.*$/gm)).toEqual(
      ['send --new tour', 'ls', 'verify --all'].map((call) => `  ./bin/perdure ${call} ${there}`),
    );
  }
  expect(first.err).toBe('');
  expect(JSON.parse(again.err.split('\n')[0]!)).toMatchObject({ level: 'info', route: '/v1/me', status: 200 });
});

test('[START3, START4] a server without a worker says that it has no worker and how to start one', async () => {
  const database = newMemoryDatabase();
  const line = 'no worker runs here: start one with `./bin/perdure worker --store memory`';
  expect((await greeted(database, 200, '--no-worker')).said).toContain(line);
  expect((await greeted(database, 200)).said).not.toContain('no worker');
});

test('[START1] a saved key that is no longer valid is reported with what to do', async () => {
  const database = newMemoryDatabase();
  await greeted(database, 80);
  const listed = await callCliOn(database, ['keys', 'ls', '--json']);
  const [, key = ''] = /"(key_\w+)"/.exec(listed.out) ?? [];
  expect(await callCliOn(database, ['keys', 'revoke', key])).toMatchObject({ code: 0 });
  const { said, status } = await greeted(database, 200);
  expect(status).toBe(401);
  expect(said).not.toContain('--key-file');
  expect(said).toContain(
    'put yours into PERDURE_KEY, or make one with `./bin/perdure keys create local --store memory`',
  );
});
