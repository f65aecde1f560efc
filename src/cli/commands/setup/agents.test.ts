import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { moduleUrl } from '../../../../test/support/cli/run-script.ts';

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
