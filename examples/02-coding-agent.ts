/**
 * A coding agent: it runs a failing test, fixes the code and runs the test again, in its own worktree. With a key, a
 * real model does this.
 */
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineScript, openRuntime } from 'perdure';
import { builtInTools } from 'perdure/tools';

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-coding-agent-'));
const project = join(folder.path, 'project');
await mkdir(project);
await writeFile(join(project, 'port.sh'), 'echo 80\n');
await writeFile(
  join(project, 'test.sh'),
  '[ "$(PORT=8080 sh port.sh)" = 8080 ] && echo passed || { echo failed; exit 1; }\n',
);

/** Stands in for a model, so that this runs without one. */
const mender = defineScript({
  steps: [
    { text: 'I look at the failure first.', calls: [{ tool: 'shell', input: { command: 'sh test.sh; cat port.sh' } }] },
    { calls: [{ tool: 'edit', input: { path: 'port.sh', old: 'echo 80', new: 'echo "$PORT"' } }] },
    { calls: [{ tool: 'shell', input: { command: 'sh test.sh' } }] },
    {
      when: { last: { matches: 'passed' } },
      calls: [{ tool: 'decide', input: { what: 'The port comes from PORT', why: 'the test sets it' } }],
    },
    { text: 'The test passes: port.sh takes the port from the environment now.' },
  ],
});
const { ANTHROPIC_API_KEY, OPENAI_API_KEY } = process.env;
const model = ANTHROPIC_API_KEY ? 'anthropic/claude-sonnet-5-5' : OPENAI_API_KEY ? 'openai/gpt-5.6' : mender;

const coder = defineAgent({
  name: 'coder',
  model,
  instructions: 'You mend code. `sh test.sh` runs the test; do not change it. Record what you decided.',
  tools: builtInTools,
});

const store = process.env.PERDURE_STORE ?? `sqlite:${join(folder.path, 'perdure.db')}`;
await using runtime = await openRuntime({ store, data: folder.path, agents: [coder] });
const session = await runtime.sessions.open({ agent: coder, files: { from: project } }); // a copy: your files stay unchanged
const run = await session.send('Make the test pass.');

for await (const part of run.stream()) {
  if (part.type === 'tool-call') console.log(`→ ${part.tool} ${JSON.stringify(part.input)}`);
  if (part.type !== 'approval') continue;
  // Commands run in a sandbox. On a host without one a person must approve; this script's commands are known to be
  // safe.
  if (model !== mender) break;
  await session.approve(part.approval);
}
const result = await run.result();
if (result.status === 'succeeded') console.log(`\nsucceeded: ${result.output}\n`);
if (result.status === 'waiting') console.log(`\nwaiting: ${result.reason}\n`);

for (const { what, why } of Object.values((await session.state()).decisions))
  console.log(`Decided: ${what}, for ${why}`);
console.log(`\n${(await session.files.diff({ turn: 0 }, { turn: 1 })).unified}`);
