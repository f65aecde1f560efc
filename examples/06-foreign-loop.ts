/** A foreign loop with every tool call on record: it gets tracked tools, and needs no change. */
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuntime } from 'perdure';

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-foreign-loop-'));

let testRuns = 0;
const plainTools = {
  writeFile: async ({ path, text }: { path: string; text: string }) => {
    await writeFile(join(folder.path, path), text);
    return `${text.length} characters`;
  },
  runTests: async ({ only }: { only: string }) => {
    testRuns += 1;
    if (testRuns === 1) throw new Error(`no tests found for ${only}`);
    return '1 passed';
  },
};

/** The foreign loop: an AI SDK agent, a graph, or these four lines. It knows nothing about sessions. */
const runLoop = async (tools: typeof plainTools): Promise<string> => {
  await tools.writeFile({ path: 'auth.ts', text: 'export const port = 8080;' });
  await tools.runTests({ only: 'auth' }).catch(() => tools.writeFile({ path: 'auth.test.ts', text: 'test(port)' }));
  return tools.runTests({ only: 'auth' });
};

const store = process.env.PERDURE_STORE ?? `sqlite:${join(folder.path, 'perdure.db')}`;
await using runtime = await openRuntime({ store });
const session = await runtime.sessions.open({ title: 'A foreign loop' });

await session.append({ role: 'user', content: 'Make the port configurable' }); // opens a turn
const tools = await session.track(plainTools, { writeFile: { files: ({ path }) => ({ [path]: 'created' }) } });
await session.append({ role: 'assistant', content: `Done: ${await runLoop(tools)}` });

console.log('Tool calls, newest first:');
for (const { seq, turn, tool, status } of (await session.toolCalls()).calls) {
  console.log(`  seq ${String(seq).padStart(2)}  turn ${turn}  ${tool.padEnd(9)}  ${status}`);
}
console.log('Files modified in the last 5 turns:');
for (const { turn, cause, entries } of (await session.commits({ last: { turns: 5 }, path: '/filesModified/**' }))
  .commits) {
  const files = entries.filter((entry) => entry.startsWith('/filesModified/'));
  console.log(`  turn ${turn}  ${files.join(' ')}  by ${cause?.tool}`);
}
console.log(`The session counts: ${JSON.stringify((await session.state()).toolsUsed.runTests)}`);
