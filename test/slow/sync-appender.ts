/**
 * Appends in rounds, each after the previous one was acknowledged, and reports each acknowledgement on stdout.
 * Arguments: the store's address, the number of rounds.
 */
import { writeSync } from 'node:fs';
import { openRuntime } from '../../src/index.ts';

const [address, rounds] = process.argv.slice(2) as [string, string];
const runtime = await openRuntime({ store: address });
const sessions = await Promise.all(Array.from({ length: 10 }, () => runtime.sessions.open()));
writeSync(1, 'acknowledged\n');
for (let round = 0; round < Number(rounds); round++) {
  const busy = round % 2 === 0 ? sessions.slice(0, 1) : sessions;
  await Promise.all(busy.map((session) => session.append({ role: 'user', content: `round ${round}` })));
  writeSync(1, 'acknowledged\n');
}
await runtime.close();
