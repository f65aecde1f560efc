import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';
import { defineAgent } from '../session/agent.ts';

const coder = defineAgent({ name: 'coder', version: 1, model: 'scripted/demo' });

const followers: Record<string, (session: Session) => Promise<AsyncGenerator<unknown, void, void>>> = {
  events: async (session) => session.events({ after: (await session.summary()).seq, follow: true }),
  watchCommits: async (session) => session.watchCommits(),
  'run.events': async (session) => {
    const run = await session.send('go');
    return run.events({ after: (await session.summary()).seq });
  },
};

test('[FAULT3] following from a seq that does not exist fails immediately', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [coder], worker: false });
  const session = await runtime.sessions.open({ agent: coder });
  const run = await session.send('go');
  const after = (await session.summary()).seq + 1;
  const refused = { code: 'POINT_NOT_FOUND', details: { point: { seq: after } } };
  for (const reader of [session.events({ after }), session.events({ after, follow: true }), run.events({ after })]) {
    await expect(reader.next()).rejects.toMatchObject(refused);
  }
  await expect(session.watchCommits({ after }).next()).rejects.toMatchObject(refused);
  await runtime.close();
});

test.each(Object.keys(followers))('[WAKE3] a waiting follower of %s ends when its reader stops', async (name) => {
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [coder], worker: false });
  const follower = await followers[name]!(await runtime.sessions.open({ agent: coder }));
  const step = follower.next();
  await new Promise(setImmediate);
  expect(await follower.return()).toEqual({ done: true, value: undefined });
  expect(await step).toEqual({ done: true, value: undefined });
  await runtime.close();
});
