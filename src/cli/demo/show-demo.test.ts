import { expect, test, vi } from 'vitest';
import { callCli, recorder } from '../../../test/support/cli/call-cli.ts';

import { lookAround, tellLeft } from './show-demo.ts';

const noFolder = import.meta.filename;

test.each([
  ['a folder that is none', ['--in', noFolder], {}],
  ['temporary files that cannot be made', [], { TMPDIR: noFolder }],
])('[CLIR8] with %s, demo says where it may be told', async (_, named, env) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { code, err } = await callCli(['demo', ...named]);
  vi.unstubAllEnvs();
  expect(code).toBe(1);
  expect(err.replaceAll('\n', ' ')).toMatch(
    /^error FILE_UNAVAILABLE: cannot write .*: --in names a new or empty folder/,
  );
});

test('[CLIR8] who leaves it in the middle is told where it is and how to remove it, on lines of their own', async () => {
  const err = recorder(80);
  await tellLeft({ json: false, err }, '/a demo');
  expect(err.bytes().toString()).toBe(
    "\nStopped in the middle. What was done until then is in /a demo\n\nTo remove it:\n\n  rm -r '/a demo'\n",
  );
});

test('[CLIR8] what is to be typed at the end asks the store of the demo, whatever the environment names', async () => {
  const typed = async (env: Record<string, string>) =>
    (await lookAround('/demo', 'ses_1', env)).map((line) => line.trim());
  const elsewhere = await typed({ PERDURE_STORE: 'sqlite:other.db', PERDURE_SERVER: 'http://127.0.0.1:1' });
  expect(elsewhere.slice(0, 2)).toEqual(['cd /demo', 'unset PERDURE_STORE PERDURE_SERVER']);
  expect((await typed({})).join()).not.toContain('unset');
});
