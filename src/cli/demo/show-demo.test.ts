import { expect, test, vi } from 'vitest';
import { callCli, recorder } from '../../../test/support/cli/call-cli.ts';

import { lookAround, tellLeft } from './show-demo.ts';

const noFolder = import.meta.filename;

test.each([
  ['a file in place of the folder', ['--in', noFolder], {}],
  ['a temporary folder that cannot be created', [], { TMPDIR: noFolder }],
])('[CLIR8] with %s, demo suggests --in', async (_, named, env) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { code, err } = await callCli(['demo', ...named]);
  vi.unstubAllEnvs();
  expect(code).toBe(1);
  expect(err.replaceAll('\n', ' ')).toMatch(
    /^error FILE_UNAVAILABLE: cannot write .*: --in names a new or empty folder/,
  );
});

test('[CLIR8] a user who interrupts the demo is shown its folder and how to remove it', async () => {
  const err = recorder(80);
  await tellLeft({ json: false, err }, '/a demo');
  expect(err.bytes().toString()).toBe(
    "\nStopped in the middle. What was done until then is in /a demo\n\nTo remove it:\n\n  rm -r '/a demo'\n",
  );
});

test('[CLIR8] the commands suggested at the end use the store of the demo, whatever the environment names', async () => {
  const typed = async (env: Record<string, string>) =>
    (await lookAround('/demo', 'ses_1', env)).map((line) => line.trim());
  const elsewhere = await typed({ PERDURE_STORE: 'sqlite:other.db', PERDURE_SERVER: 'http://127.0.0.1:1' });
  expect(elsewhere.slice(0, 2)).toEqual(['cd /demo', 'unset PERDURE_STORE PERDURE_SERVER']);
  expect((await typed({})).join()).not.toContain('unset');
});
