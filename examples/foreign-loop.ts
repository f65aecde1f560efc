/** A loop that is not ours, with every tool call on record: it is given tracked tools, and is not changed. Every claim is checked. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuntime } from '../src/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'perdure-foreign-loop-'));

/** Stands for a model: it says which tool to call next, then that it is done. */
type Step =
  | { tool: 'writeFile'; input: { path: string; text: string } }
  | { tool: 'runTests'; input: { only: string } };
const script: Step[] = [
  { tool: 'writeFile', input: { path: 'auth.ts', text: 'export const port = 8080;' } },
  { tool: 'runTests', input: { only: 'auth' } },
  { tool: 'writeFile', input: { path: 'auth.test.ts', text: 'test(port)' } },
  { tool: 'runTests', input: { only: 'auth' } },
];
const model = (seen: readonly string[]): Step | undefined => script[seen.length];

let runs = 0;
const plainTools = {
  writeFile: async ({ path, text }: { path: string; text: string }) => {
    writeFileSync(join(folder, path), text);
    return `${text.length} characters`;
  },
  runTests: async ({ only }: { only: string }) => {
    runs += 1;
    if (runs === 1) throw new Error(`no tests found for ${only}`);
    return '1 passed';
  },
};

/** The foreign loop. It knows nothing of sessions. */
const runLoop = async (tools: typeof plainTools): Promise<readonly string[]> => {
  const seen: string[] = [];
  for (let step = model(seen); step; step = model(seen)) {
    const result = tools[step.tool](step.input as never);
    seen.push(await result.catch((error: Error) => `failed: ${error.message}`));
  }
  return seen;
};

const runtime = await openRuntime({ store: `sqlite:${join(folder, 'store.db')}` });
try {
  const session = await runtime.sessions.open({ title: 'A foreign loop' });
  await session.append({ role: 'user', content: 'Make the port configurable' });
  const tools = session.track(plainTools, { writeFile: { files: ({ path }) => ({ [path]: 'created' }) } });
  const seen = await runLoop(tools);
  await session.append({ role: 'assistant', content: `Done: ${seen.at(-1)}` });
  assert.deepEqual(seen, ['25 characters', 'failed: no tests found for auth', '10 characters', '1 passed']);

  const calls = await session.toolCalls();
  console.log('Tool calls, newest first:');
  for (const { seq, turn, tool, status, durationMs } of calls) {
    console.log(
      `  seq ${String(seq).padStart(2)}  turn ${turn}  ${tool.padEnd(9)}  ${status.padEnd(5)}  ${durationMs} ms`,
    );
  }
  assert.deepEqual(
    calls.map(({ tool, status }) => `${tool} ${status}`),
    ['runTests ok', 'writeFile ok', 'runTests threw', 'writeFile ok'],
  );

  const commits = await session.commits({ last: { turns: 5 }, path: '/filesModified/**' });
  console.log('\nFiles modified in the last 5 turns:');
  for (const { turn, cause, entries, outputSummary } of commits) {
    const files = entries.filter((entry) => entry.startsWith('/filesModified/'));
    console.log(`  turn ${turn}  ${files.join(' ')}  by ${cause?.tool}  (${outputSummary})`);
  }
  const files = commits.flatMap(({ entries }) => entries.filter((entry) => entry.startsWith('/filesModified/')));
  assert.deepEqual(files, ['/filesModified/auth.test.ts', '/filesModified/auth.ts']);

  const { toolsUsed } = await session.state();
  assert.deepEqual(toolsUsed.runTests, { calls: 2, ok: 1, failed: 1 });
  assert.ok((await session.verify()).ok);
  console.log('\nEvery call was in the log before it ran, its outcome after. The chain holds.');
} finally {
  await runtime.close();
  rmSync(folder, { recursive: true });
}
