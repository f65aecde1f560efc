/** The smallest session: a question, its answer, and the log that holds both. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, openRuntime } from 'perdure';

const greeter = defineAgent({
  name: 'greeter',
  model: 'scripted/demo', // a script that needs no key; a model is 'anthropic/NAME', 'openai/NAME' or one of the AI SDK
});

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-hello-'));
const store = process.env.PERDURE_STORE ?? `sqlite:${join(folder.path, 'perdure.db')}`;
await using runtime = await openRuntime({ store, agents: [greeter] });

const session = await runtime.sessions.open({ agent: greeter, title: 'Hello' });
const run = await session.send('Hello!'); // on disk when this returns
const result = await run.result();
if (result.status === 'succeeded') console.log(`The agent says: ${result.output}\n`);

console.log('The log:');
for await (const { seq, turn, type, actor } of session.events()) {
  console.log(`  ${String(seq).padStart(2)}  turn ${turn}  ${type.padEnd(17)}  ${actor}`);
}
const { ok } = await session.verify();
console.log(ok ? 'Its hash chain holds.' : 'Somebody changed it.');
