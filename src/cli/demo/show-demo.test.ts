import { expect, test, vi } from 'vitest';
import { callCli } from '../../../test/call-cli.ts';

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
