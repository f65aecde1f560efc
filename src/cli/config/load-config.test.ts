import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callCli, recorder } from '../../../test/support/cli/call-cli.ts';

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
    5,
    'FILE_NOT_FOUND: there is no file gone.ts, which --config names: name one that exists, or leave --config out to use perdure.config.ts in this folder',
  ],
  ['', 2, 'INVALID_INPUT: --config names no file: name one'],
  ['empty', 2, 'INVALID_INPUT: --config names the folder empty: name the file in it'],
  ['team', 2, 'INVALID_INPUT: --config names the folder team: name the file in it, team/perdure.config.mjs'],
  [
    'agents.json',
    2,
    'INVALID_INPUT: agents.json, which --config names, is not a .ts, .mjs or .js file: name one that says export default { agents: [defineAgent({ … })] }',
  ],
])('[CLIR1] --config %j is refused with advice', async (named, code, error) => {
  const refused = await callCli(['agents', '--config', named], { folder, columns: Number.POSITIVE_INFINITY });
  expect(refused).toMatchObject({ code, err: `error ${error}\n` });
});

test('[CLIR1] a folder with the name of a configuration file is reported as such', async () => {
  const around = join(folder, 'around');
  mkdirSync(join(around, 'perdure.config.ts'), { recursive: true });
  expect(await callCli(['agents'], { folder: around, columns: Number.POSITIVE_INFINITY })).toMatchObject({
    code: 2,
    err: 'error INVALID_INPUT: perdure.config.ts is a folder, not a configuration: rename it, or name the file with --config\n',
  });
});

const library = new URL('../../index.ts', import.meta.url).href;
const oneAgent = `import { defineAgent } from '${library}';
const a = defineAgent({ name: 'a', version: 1, model: 'scripted/a' });`;
let count = 0;
const written = (text: string): string => {
  const name = `written-${++count}.mjs`;
  writeFileSync(join(folder, name), text);
  return name;
};

test.each([
  ['{ agents: [a, a] }', 'AGENT_INVALID: FILE: the agent a@1 cannot be used: this name and version occur twice'],
  ['{ agents: [a], models: 3 }', 'INVALID_INPUT: FILE: models: expected an object'],
  ['{ agents: [a], models: null }', 'INVALID_INPUT: FILE: models: expected an object'],
  ['{ agents: [a], models: { scripts: [] } }', 'INVALID_INPUT: FILE: models: '],
  ['{ agents: [a], models: { provider: {} } }', 'INVALID_INPUT: FILE: models: "provider" is not one of providers,'],
  [
    '{ agents: [a], providers: {} }',
    'INVALID_INPUT: FILE takes agents, models, store, data, but not "providers": did you mean models.providers?',
  ],
  [
    `{ agents: [a], models: { providers: { x: { baseURL: 'y' } } } }`,
    'INVALID_INPUT: FILE: models.providers.x: "baseURL" is not one of baseUrl,',
  ],
  [
    `{ agents: [a], models: { providers: { x: { apiKey: 3 } } } }`,
    'INVALID_INPUT: FILE: models.providers.x.apiKey: expected a string',
  ],
  [`{ agents: [a], models: { models: { 'x/y': 3 } } }`, 'INVALID_INPUT: FILE: models.models.x/y: expected an object'],
  [`{ agents: [a], store: 'mysql://x' }`, 'INVALID_INPUT: FILE: "mysql://x" is not a store: pass sqlite:PATH or'],
  [`{ agents: [a], store: 'a.db' }`, 'INVALID_INPUT: FILE: "a.db" is not a store: pass sqlite:a.db or'],
  [`{ agents: [a], store: '' }`, 'INVALID_INPUT: FILE: "" is not a store'],
  ['{ agents: [a], store: {} }', 'INVALID_INPUT: FILE: a store is needed: pass'],
  ['{ agents: [a], store: null }', 'INVALID_INPUT: FILE: a store is needed: pass'],
  ['async () => ({ agents: [a] })', 'INVALID_INPUT: FILE exports a function by default, not an object: write export'],
  ['Promise.resolve({ agents: [a] })', 'INVALID_INPUT: FILE exports a promise by default, not an object: write'],
  ['[a]', 'INVALID_INPUT: FILE exports a list by default, not an object: write'],
  ['null', 'INVALID_INPUT: FILE exports null by default, not an object: write'],
  ['process.exit(0)', 'INVALID_INPUT: FILE cannot be loaded: Error: it ends the process with process.exit(0)'],
])(
  '[CLIR15] the invalid configuration %s is reported with its file name, and no store is created',
  async (text, error) => {
    const name = written(`${oneAgent}\nexport default ${text};`);
    for (const argv of [['agents'], ['open', '--agent', 'a', '--store', `sqlite:${join(folder, 'made', 'a.db')}`]]) {
      const { code, err } = await callCli([...argv, '--config', name], { folder, columns: Number.POSITIVE_INFINITY });
      expect({ code, err }).toEqual({
        code: 2,
        err: expect.stringContaining(`error ${error.replaceAll('FILE', name)}`),
      });
    }
    expect(existsSync(join(folder, 'made'))).toBe(false);
  },
);

test('[CLI12] a configuration that is slow to load shows progress on a terminal', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  Object.assign(globalThis, { perdureGate: promise });
  const name = written(`${oneAgent}\nawait globalThis.perdureGate;\nexport default { agents: [a] };`);
  const err = { ...recorder(), patienceMs: 0, style: (_: unknown, text: string) => text };
  const loading = callCli(['agents', '--config', name], { folder, err });
  await expect.poll(() => err.bytes().toString(), { timeout: 10_000 }).toContain(`loading ${name}, `);
  resolve();
  expect(await loading).toMatchObject({ code: 0, out: expect.stringContaining('scripted/a') });
});
