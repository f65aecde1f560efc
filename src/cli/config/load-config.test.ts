import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callCli } from '../../../test/call-cli.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-config-'));
  for (const name of ['empty', 'team']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'team', 'perdure.config.mjs'), 'export default {};');
  writeFileSync(join(folder, 'agents.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  [
    'gone.ts',
    1,
    'FILE_UNAVAILABLE: there is no file gone.ts, which --config names: name one that is there, or leave --config out to use perdure.config.ts of this folder',
  ],
  ['empty', 2, 'INVALID_INPUT: --config names the folder empty: name the file in it'],
  ['team', 2, 'INVALID_INPUT: --config names the folder team: name the file in it, team/perdure.config.mjs'],
  [
    'agents.json',
    2,
    'INVALID_INPUT: agents.json, which --config names, is no .ts, .mjs or .js: name one that says export default { agents: [defineAgent({ … })] }',
  ],
])('[CLIR1] --config %s is refused with what to do', async (named, code, told) => {
  const refused = await callCli(['agents', '--config', named], { folder, columns: Number.POSITIVE_INFINITY });
  expect(refused).toMatchObject({ code, err: `error ${told}\n` });
});
