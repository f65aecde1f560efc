/** A run asks before it deploys and waits while nobody works on it. Ann allows it from elsewhere, and it goes on. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineScript, defineTool, openRuntime } from 'perdure';
import { z } from 'zod';

const deploy = defineTool({
  name: 'deploy',
  description: 'Puts a version into production.',
  input: z.object({ version: z.string() }),
  approval: { notRequester: true }, // an approver or admin, and not whoever asked for it
  effects: 'once', // after a crash it is not run again
  execute: ({ version }) => `${version} is live`,
});
const script = defineScript({
  steps: [
    { text: 'I deploy 1.4.2.', calls: [{ tool: 'deploy', input: { version: '1.4.2' } }] },
    { when: { last: { outcome: 'ok' } }, text: 'Done: 1.4.2 is live.' },
    { text: 'It was not allowed, so I left it.' },
  ],
});
const releaser = defineAgent({ name: 'releaser', model: script, tools: [deploy] });

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-approval-'));
const store = process.env.PERDURE_STORE ?? `sqlite:${join(folder.path, 'perdure.db')}`;
/** Three of them, one after another: each could be a process on another machine. */
const open = () => openRuntime({ store, agents: [releaser] });

const askAsBob = async () => {
  await using runtime = await open();
  const { sessions } = runtime.as({ workspace: 'local', member: 'bob' });
  const session = await sessions.open({ agent: releaser });
  const run = await session.send('Release 1.4.2');
  const result = await run.result();
  if (result.status !== 'waiting') throw new Error(`expected it to wait; it is ${result.status}`);
  console.log(`Bob's run is waiting for an ${result.waitingFor}. His runtime is closed.`);
  return { session: session.id, run: run.id };
};

/** In a terminal this is `perdure approvals` and `perdure approve ID`. */
const answerAsAnn = async () => {
  await using runtime = await openRuntime({ store }); // needs no agent
  const { approvals } = runtime.as({ workspace: 'local', member: 'ann', role: 'approver' });
  for (const { id, tool, summary } of await approvals.list()) {
    console.log(`Ann is asked about ${tool}: ${summary}`);
    await approvals.approve(id);
    console.log('Ann approves. Her runtime is closed.');
  }
};

const asked = await askAsBob();
await answerAsAnn();

await using runtime = await open();
const session = await runtime.sessions.get(asked.session);
const result = await (await session.run(asked.run)).result();
if (result.status === 'succeeded') console.log(`A third runtime goes on: succeeded. "${result.output}"`);
for await (const { seq, type, actor } of session.events()) {
  if (/^(approval|tool)/.test(type)) console.log(`  ${String(seq).padStart(2)}  ${type.padEnd(18)}  ${actor}`);
}
