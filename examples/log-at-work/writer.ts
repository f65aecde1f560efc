/** Appends turns to a session as fast as it can and reports each one when it is acknowledged. Somebody will kill it. */
import { openRuntime } from '../../src/index.ts';

const [store = '', id = ''] = process.argv.slice(2);
const runtime = await openRuntime({ store });
const session = await runtime.sessions.get(id);

for (let turn = 1; ; turn++) {
  const events = await session.append([
    { role: 'user', content: `Question ${turn}: what is ${turn} times ${turn}?` },
    { role: 'assistant', content: `It is ${turn * turn}.` },
  ]);
  process.stdout.write(`${JSON.stringify(events.map(({ seq, hash }) => ({ seq, hash })))}\n`);
}
