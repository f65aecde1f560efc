import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime, type Session } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { runtimePlace } from '../support/stores/runtime-places.ts';
import { storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

let deployed = 0;
const deploy = defineTool({
  name: 'deploy',
  input: z.object({}),
  approval: true,
  execute: () => {
    deployed += 1;
    return 'deployed';
  },
});
const agent = defineAgent({
  name: 'coder',
  model: defineScript({ name: 'coder', steps: [{ calls: [{ tool: 'deploy', input: {} }] }, { text: 'Done.' }] }),
  tools: [deploy],
});

const collect = async (source: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> => {
  const chunks = await Array.fromAsync(source);
  return (async function* () {
    yield* chunks;
  })();
};

/** A bundle of a session whose run waits for an approval that was given elsewhere, and has not continued since. */
const bundleWithAnswer = async () => {
  const runtime = await openRuntime({ store: openMemoryStore(newMemoryDatabase()), agents: [agent], worker: false });
  undo.push(() => runtime.close());
  const eve = runtime.as({ workspace: 'elsewhere', member: 'ann', role: 'admin' });
  const session = await eve.sessions.open({ agent });
  await session.commit(({ facts }) => void Object.assign(facts, { port: { value: 8080 } }), { provenance: 'verified' });
  const run = await session.send('Go');
  const worker = eve.worker();
  await worker.start();
  expect(await run.result()).toMatchObject({ waitingFor: 'approval' });
  await worker.stop();
  const [approval] = await eve.approvals.list();
  const open = await collect(session.export());
  await session.approve(approval!.id);
  return { id: session.id, approval: approval!.id, open, approved: await collect(session.export()) };
};

const typesOf = async (session: Session) => (await Array.fromAsync(session.events())).map(({ type }) => type);

describe.each(storeKinds)('an import into %s', (kind) => {
  const start = async () => {
    const place = await runtimePlace(kind);
    undo.push(place.remove);
    const runtime = await place.open({ agents: [agent], worker: false });
    undo.push(() => runtime.close());
    const as = (member: string) => runtime.as({ workspace: 'acme', member, role: 'admin' });
    return { as, place };
  };

  test('[BUN14] an approval that was given elsewhere allows nothing, and the call is asked about again', async () => {
    const { id, approval, approved } = await bundleWithAnswer();
    const { as } = await start();
    await as('bob').sessions.import(approved);
    const session = await as('bob').sessions.get(id);
    expect(await as('bob').approvals.list()).toEqual([]);
    const [settled] = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'approval.settled');
    expect(settled).toMatchObject({ imported: true, actor: 'foreign:ann', payload: { answer: 'imported' } });
    deployed = 0;
    await as('bob').worker().start();
    const next = await session.send('Go on');
    await expect.poll(async () => (await as('bob').approvals.list()).length, { timeout: 10_000 }).toBe(1);
    expect(deployed).toBe(0);
    const [again] = await as('bob').approvals.list();
    expect(again!.id).not.toBe(approval);
    await as('bob').approvals.approve(again!.id);
    await next.waitForEnd();
    expect(deployed).toBe(1);
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[BUN14] an open approval of a bundle is void', async () => {
    const { id, approval, open } = await bundleWithAnswer();
    const { as } = await start();
    await as('bob').sessions.import(open);
    expect(await as('bob').approvals.list()).toEqual([]);
    await expect(as('bob').approvals.approve(approval)).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    await expect((await as('bob').sessions.get(id)).approve(approval)).rejects.toMatchObject({
      code: 'APPROVAL_NOT_FOUND',
    });
  });

  test('[BUN15] what a bundle says is imported, whatever provenance and members it names', async () => {
    const { id, approved, open } = await bundleWithAnswer();
    const { as, place } = await start();
    await as('bob').sessions.import(open);
    await as('bob').sessions.import(approved); // a longer copy
    const session = await as('bob').sessions.get(id);
    const seen = async (which: Session) => ({
      commits: (await which.commits()).commits.map(({ actor, provenance }) => ({ actor, provenance })),
      found: (await which.commits({ provenance: ['verified', 'human'] })).commits.length,
      writers: [...new Set((await Array.fromAsync(which.events())).map(({ actor }) => actor.split(':')[0]))].sort(),
    });
    const before = await seen(session);
    expect(before).toMatchObject({ commits: [{ actor: 'foreign:ann', provenance: 'imported' }], found: 0 });
    expect(before.writers).not.toContain('member');
    const fork = await session.fork({ at: { seq: 3 } });
    await session.cancel();
    await session.rewind({ to: { seq: 3 } });
    for (const each of [session, fork]) {
      const carried = await as('bob').sessions.open({ carryFrom: each.id });
      expect((await carried.commits()).commits).toMatchObject([{ provenance: 'imported' }]);
    }
    await as('bob').sessions.rebuildProjections();
    const reopened = await place.open({ agents: [agent], worker: false });
    undo.push(() => reopened.close());
    const again = await reopened.as({ workspace: 'acme', member: 'bob', role: 'admin' }).sessions.get(id);
    expect(await seen(again)).toMatchObject({ commits: before.commits, found: 0 });
    expect(await typesOf(again)).toContain('session.rewound');
  });
});
