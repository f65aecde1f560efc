import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AppendRequest } from '../../src/core/ports/store.ts';
import {
  defineAgent,
  defineScript,
  defineTool,
  type Identity,
  openRuntime,
  type Runtime,
  type Session,
} from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { subagent } from '../../src/tools/index.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const done = { text: 'Done.' };
const deploy = defineTool({ name: 'deploy', input: z.object({}), approval: {}, execute: () => 'deployed' });

/** A boss whose subagent waits for an approval of its call. */
const agents = () => {
  const calls = (tool: string, input: object) => ({ calls: [{ tool, input }] });
  const script = (name: string, step: object) =>
    defineScript({ name, everyTurn: true, steps: [step, done] } as Parameters<typeof defineScript>[0]);
  const helper = defineAgent({ name: 'helper', model: script('helper', calls('deploy', {})), tools: [deploy] });
  const boss = defineAgent({
    name: 'boss',
    model: script('boss', calls('helper', { task: 'The secret task' })),
    tools: [subagent(helper)],
  });
  return { helper, boss };
};

const asOn =
  (runtime: Runtime) =>
  (member: string, more: Partial<Identity> = {}) =>
    runtime.as({ workspace: 'acme', member, role: 'member', ...more });

const waitForApproval = (as: ReturnType<typeof asOn>, session: Session) =>
  expect
    .poll(async () => (await session.summary()).waiting, { timeout: 10_000 })
    .toBe('approval')
    .then(() => as('root', { role: 'admin' }).approvals.list());

describe.each(storeKinds)('a subagent that the caller does not see, on %s', (kind) => {
  const start = async () => {
    const place = await newStorePlace(kind);
    const { helper, boss } = agents();
    const warnings: unknown[] = [];
    const runtime = await openRuntime({
      store: place.address,
      agents: [helper, boss],
      worker: false,
      onWarning: (problem) => warnings.push(problem),
    });
    undo.push(
      () => place.remove(),
      () => runtime.close(),
    );
    const as = asOn(runtime);
    const worker = runtime.worker();
    await worker.start();
    const session = await as('alice').sessions.open({ agent: boss, visibility: 'private' });
    const run = await session.send('Go');
    await waitForApproval(as, session);
    const list = async () => (await as('alice').sessions.list()).sessions;
    const child = async () => (await list()).find(({ calledBy }) => calledBy)!;
    const limited = await as('alice', { sessions: [session.id] }).sessions.get(session.id);
    return { as, session, run, child, limited, warnings, worker };
  };

  test('[RUN52] is paused, resumed and handed over with the session of a token', async () => {
    const { limited, session, child, warnings } = await start();
    await limited.pause();
    expect([(await session.summary()).status, (await child()).status]).toEqual(['paused', 'paused']);
    await limited.resume();
    expect([(await session.summary()).status, (await child()).status]).toEqual(['active', 'active']);
    await limited.pause({ withinMs: 0 });
    expect([(await session.summary()).status, (await child()).status]).toEqual(['paused', 'paused']);
    await limited.resume();
    await limited.handoff({ to: 'human' });
    expect((await child()).status).toBe('paused');
    expect(warnings).toEqual([]);
  });

  test('[RUN52] ends with the run that a token cancels', async () => {
    const { limited, child, worker, run, warnings } = await start();
    await worker.stop();
    await limited.cancel();
    expect((await child()).status).toBe('closed');
    expect(await run.waitForEnd()).toMatchObject({ status: 'cancelled' });
    expect(warnings).toEqual([]);
  });

  test('[RUN52] goes on when the member whom the session was handed to hands it back', async () => {
    const { as, session, child, warnings } = await start();
    await session.handoff({ to: { member: 'bob' } });
    const bobs = await as('bob').sessions.get(session.id);
    await expect(as('bob').sessions.get((await child()).id)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await bobs.handoff({ to: 'agent' });
    expect([(await session.summary()).holder, (await child()).status]).toEqual(['agent', 'active']);
    expect(warnings, 'although bob no longer sees the session').toEqual([]);
  });

  test('[SEE6] becomes as visible as the session that a token shares', async () => {
    const { limited, child } = await start();
    await limited.share({ sharedWith: ['bob'] });
    expect(await child()).toMatchObject({ visibility: 'private', sharedWith: ['bob'] });
  });
});

test('[RUN52] a subagent that cannot be stopped does not hold up the stop of its caller', async () => {
  const { helper, boss } = agents();
  const memory = openMemoryStore();
  let broken: string | undefined;
  const store = overrideStore(memory, {
    append: async (request: AppendRequest) => {
      if (request.session === broken) throw new Error('the disk of the child is full');
      return memory.append(request);
    },
  });
  const warnings: unknown[] = [];
  const runtime = await openRuntime({
    store,
    agents: [helper, boss],
    worker: false,
    onWarning: (problem) => warnings.push(problem),
  });
  undo.push(() => runtime.close());
  await runtime.worker().start();
  const as = asOn(runtime);
  const session = await as('alice').sessions.open({ agent: boss });
  await session.send('Go');
  await waitForApproval(as, session);
  broken = (await as('alice').sessions.list()).sessions.find(({ calledBy }) => calledBy)!.id;
  await session.handoff({ to: 'human' });
  expect((await session.summary()).holder).toBe('human');
  expect(warnings.map(String).join()).toContain('the disk of the child is full');
  broken = undefined;
  await session.handoff({ to: 'human' });
  const { sessions } = await as('alice').sessions.list();
  expect(sessions.find(({ calledBy }) => calledBy)?.status, 'a repeated handoff reaches it').toBe('paused');
});

describe('a subagent that is opened while its caller becomes private', () => {
  /** Two processes on one store. The first one waits with each append that `holds` names. */
  const start = async (holds: string) => {
    const { helper, boss } = agents();
    const database = newMemoryDatabase();
    const memory = openMemoryStore(database);
    const [held, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const store = overrideStore(memory, {
      append: async (request: AppendRequest) => {
        if (request.events.some(({ type }) => type === holds)) {
          held.resolve();
          await gate.promise;
        }
        return memory.append(request);
      },
    });
    const opened = async (on: typeof memory) => {
      const runtime = await openRuntime({ store: on, agents: [helper, boss], worker: false });
      undo.push(() => runtime.close());
      return runtime;
    };
    const [slow, quick] = [await opened(store), await opened(openMemoryStore(database))];
    const session = await asOn(quick)('alice').sessions.open({ agent: boss });
    return { slow, quick, session, held: held.promise, release: gate.resolve };
  };
  const isHidden = async (runtime: Runtime, session: Session) => {
    await waitForApproval(asOn(runtime), session);
    const { sessions } = await asOn(runtime)('alice').sessions.list();
    expect(sessions.map(({ visibility }) => visibility)).toEqual(['private', 'private']);
    expect((await asOn(runtime)('mallory').sessions.list()).sessions).toEqual([]);
  };

  test('[SEE6] becomes private too if its caller names it before the change lands', async () => {
    const { slow, quick, session, held, release } = await start('session.shared');
    const sharing = (await asOn(slow)('alice').sessions.get(session.id)).share({ visibility: 'private' });
    await held;
    await quick.worker().start();
    await session.send('Go');
    await waitForApproval(asOn(quick), session);
    release();
    await sharing;
    await isHidden(quick, session);
  });

  test('[SEE6] becomes private too if its caller names it after the change landed', async () => {
    const { slow, quick, session, held, release } = await start('child.opened');
    await slow.worker().start();
    await session.send('Go');
    await held;
    await session.share({ visibility: 'private' });
    release();
    await isHidden(quick, session);
  });
});
