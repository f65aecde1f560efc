/** A run stops before the model call that its budget has no room for; somebody raises it, and the same run goes on. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineScript, openRuntime } from 'perdure';
import { planTool } from 'perdure/tools';

const done = (id: string, step: string) => ({
  tool: 'plan',
  input: { changes: [{ do: 'set', id, step, status: 'done' }] },
});
const script = defineScript({
  steps: [
    { calls: [done('1', 'Measure')] },
    { calls: [done('2', 'Cut')] },
    { calls: [done('3', 'Glue')] },
    { text: 'Three steps, all done.' },
  ],
});
const planner = defineAgent({
  name: 'planner',
  model: script,
  settings: { maxOutputTokens: 200 }, // set aside before each call, with what the request itself takes
  tools: [planTool],
});

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-budget-'));
const store = process.env.PERDURE_STORE ?? `sqlite:${join(folder.path, 'perdure.db')}`;
await using runtime = await openRuntime({ store, agents: [planner] });

const session = await runtime.sessions.open({ agent: planner, budget: { tokens: 600 } });
const run = await session.send('Build a shelf');
const before = await run.result();
const tell = async () => {
  const { spent, limits } = await session.usage();
  const steps = Object.keys((await session.state()).plan).length;
  console.log(`  ${spent.tokens} of ${limits.tokens} tokens, ${steps} of 3 steps`);
};
if (before.status === 'waiting') console.log(`waiting for ${before.waitingFor}: ${before.reason}`);
await tell();

await session.limit({ tokens: 5000 }, { reason: 'the shelf is worth it' }); // in a terminal: perdure limit
const after = await run.waitForEnd();
if (after.status === 'succeeded') console.log(`succeeded: ${after.output}`);
await tell();
