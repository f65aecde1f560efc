import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serverKey } from '../backing/server-key.ts';
import { keepKey, keptKeyFile, readKeptKey } from './kept-key.ts';

test('[CLIENT9, CLIENT16, ST9] the saved server key is used for servers of this machine only, and refused when others can read it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-kept-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const data = join(folder, '.perdure');
  const here = 'http://127.0.0.1:4730';
  const world = { folder, env: {} };
  expect(() => serverKey(here, undefined, world)).toThrow('PERDURE_KEY');
  for (const key of ['pdk_older', 'pdk_kept']) await keepKey(data, key);
  expect(statSync(keptKeyFile(data)).mode & 0o777).toBe(0o600);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  for (const own of [here, 'http://localhost:1', 'http://[::1]:1'])
    expect(serverKey(own, undefined, world)).toBe('pdk_kept');
  for (const other of ['http://127.0.0.1.example.org', 'https://example.org', 'http://localhost.example.org:4730'])
    expect(() => serverKey(other, undefined, world), other).toThrow('PERDURE_KEY');
  expect(serverKey(here, undefined, { folder, env: { PERDURE_KEY: 'pdk_given' } })).toBe('pdk_given');
  expect(readKeptKey(data)).toBe('pdk_kept');
  expect(readKeptKey(folder)).toBeUndefined();
  mkdirSync(keptKeyFile(folder));
  expect(readKeptKey(folder)).toBeUndefined();
  chmodSync(keptKeyFile(data), 0o644);
  expect(() => serverKey(here, undefined, world)).toThrow('chmod 600');
});
