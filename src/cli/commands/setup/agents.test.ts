import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { moduleUrl } from '../../../../test/support/cli/run-script.ts';
import { startTestServer } from '../../../../test/support/servers/http-server.ts';
import { defineAgent } from '../../../index.ts';
import type { Context } from '../../parse/command.ts';
import { greetingOf } from '../../serve/greeting.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-agents-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('[TOOL19] the list of agents says which run commands without a sandbox, and why', async () => {
  const file = join(folder, 'agents.ts');
  writeFileSync(
    file,
    `import { defineAgent } from ${moduleUrl('src/index.ts')};
     import { defineShellTool } from ${moduleUrl('src/tools/index.ts')};
     const shell = defineShellTool({ bwrap: '/nowhere/bwrap' });
     const about = { version: 1, model: 'scripted/demo' };
     const one = defineAgent({ ...about, name: 'one', tools: [shell], prepare: 'npm ci' });
     const two = defineAgent({ ...about, name: 'two', prepare: { command: 'npm ci', shell } });
     export default { agents: [one, two] };`,
  );
  const { out, err } = await callCli(['agents', '--config', file]);
  expect(out).toMatch(/one +1 .*shell/);
  expect(err.match(/shell: commands run without a sandbox: bwrap is not installed/g)).toHaveLength(1);
  expect(JSON.parse((await callCli(['agents', '--config', file, '--json'])).out).agents).toMatchObject([
    { name: 'one', cautions: [expect.stringContaining('without a sandbox')] },
    { name: 'two', cautions: [expect.stringContaining('without a sandbox')] },
  ]);
});

const fallbacks = (file: string) =>
  writeFileSync(
    file,
    `import { defineAgent } from ${moduleUrl('src/index.ts')};
     const coder = defineAgent({ name: 'coder', version: 3, model: ['anthropic/a', 'openai/b', 'scripted/demo'] });
     const other = defineAgent({ name: 'other', model: 'anthropic/a' });
     const own = defineAgent({ name: 'own' });
     export default { agents: [coder, other, own], models: { env: { OPENAI_API_KEY: 'some-key' } } };`,
  );

test('[FALL12] the list of agents shows versions and fallbacks, and marks models that are not configured', async () => {
  const file = join(folder, 'agents.ts');
  fallbacks(file);
  const { out, err } = await callCli(['agents', '--config', file], { columns: 200 });
  expect(out).toMatch(/coder +3 +anthropic\/a \(not configured\), openai\/b, scripted\/demo/);
  expect(out).toMatch(/other +1 +anthropic\/a \(not configured\)/);
  expect(err.match(/anthropic\/a is not configured: set ANTHROPIC_API_KEY/g)).toHaveLength(1);
  expect(`${out}${err}`).not.toContain('some-key');
  const { agents } = JSON.parse((await callCli(['agents', '--config', file, '--json'])).out);
  expect(agents).toMatchObject([
    {
      name: 'coder',
      version: 3,
      model: 'anthropic/a',
      models: [
        { name: 'anthropic/a', problem: expect.stringContaining('ANTHROPIC_API_KEY') },
        { name: 'openai/b' },
        { name: 'scripted/demo' },
      ],
    },
    { name: 'other', models: [{ name: 'anthropic/a' }] },
    { name: 'own', model: '', models: [] },
  ]);
  expect(agents[0].models[1]).not.toHaveProperty('problem');
});

test('[FALL12] a server says the same of its agents, over HTTP, to the CLI and at its start', async () => {
  const models = { env: { OPENAI_API_KEY: 'some-key' } };
  const agent = defineAgent({ name: 'coder', version: 3, model: ['anthropic/a', 'openai/b'] });
  const { server, keys, runtime, json } = await startTestServer({}, { agents: [agent], models });
  const listed = [
    { name: 'anthropic/a', problem: expect.stringContaining('set ANTHROPIC_API_KEY') },
    { name: 'openai/b' },
  ];
  expect((await json('/v1/agents')).agents).toMatchObject([{ name: 'coder', version: 3, models: listed }]);
  const world = { columns: 200, env: { PERDURE_KEY: keys.admin } };
  const { out, err } = await callCli(['agents', '--server', server.url], world);
  expect(out).toMatch(/coder +3 +anthropic\/a \(not configured\), openai\/b/);
  expect(err).toContain('anthropic/a is not configured: set ANTHROPIC_API_KEY');
  const context = {
    config: async () => ({ agents: [agent], models, file: 'perdure.config.ts' }),
    storeName: () => 'sqlite:here.db',
    program: 'perdure',
    commandText: (...words: readonly string[]) => words.join(' '),
    out: { columns: 200, style: (_: string, text: string) => text },
  } as unknown as Context;
  const lines = await greetingOf(context, runtime, {
    url: server.url,
    takenPort: undefined,
    workers: 1,
    key: undefined,
  });
  expect(lines).toContain('agents: coder 3 uses anthropic/a (not configured), openai/b');
  expect(lines.join('\n')).toMatch(/^anthropic\/a is not configured: set ANTHROPIC_API_KEY/m);
});
