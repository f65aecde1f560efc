/** Your own state under a schema: commits are checked before they are stored, can be queried later, and reverted. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, isPerdureError, openRuntime } from 'perdure';
import { z } from 'zod';

const Order = z.object({
  status: z.enum(['draft', 'placed', 'shipped']),
  items: z.record(z.string(), z.object({ count: z.int().positive(), cents: z.int().nonnegative() })),
});
const shop = defineAgent({ name: 'shop', state: Order, initial: { status: 'draft', items: {} } });

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-custom-state-'));
const store = process.env.PERDURE_STORE ?? `sqlite:${join(folder.path, 'perdure.db')}`;
await using runtime = await openRuntime({ store, agents: [shop] });
const session = await runtime.sessions.open({ agent: shop });
const order = async () => (await session.state()).own; // has the type of the schema, and so has `own` in a commit

await session.append({ role: 'user', content: 'Two bells, please.' });
await session.commit(
  ({ own }) => {
    own.items = { bell: { count: 2, cents: 1250 } };
  },
  { why: 'asked for' },
);
await session.append({ role: 'user', content: 'Order it.' });
const placed = await session.commit(
  ({ own }) => {
    own.status = 'placed';
  },
  { why: 'confirmed' },
);
console.log(`The order: ${JSON.stringify(await order())}`);

try {
  await session.commit(({ own }) => {
    own.items = { bell: { count: -1, cents: 1250 } };
  });
} catch (error) {
  if (!isPerdureError(error, 'STATE_INVALID')) throw error;
  console.log(`Refused, and nothing stored: ${error.message}`);
}

for (const { turn, entries, actor, why } of (await session.commits({ path: '/own/**' })).commits) {
  console.log(`  turn ${turn}  ${entries.join(' ').padEnd(12)}  ${actor}: ${why}`);
}
await session.revert(placed!.seq, { why: 'changed their mind' });
console.log(`Taken back: it is a ${(await order()).status} again, and the log still shows that it was placed.`);
