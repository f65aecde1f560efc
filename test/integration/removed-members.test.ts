import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { defineAgent, defineTool, type Runtime, type Session } from '../../src/index.ts';
import { askTool, subagent } from '../../src/tools/index.ts';
import { askedModel } from '../support/runs/asked-model.ts';
import { runtimePlace } from '../support/stores/runtime-places.ts';
import { storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const workspace = 'acme';
const notAllowed = (why: RegExp) => ({
  status: 'failed',
  error: { code: 'MEMBER_NOT_ALLOWED', message: expect.stringMatching(why) },
});

describe.each(storeKinds)('runs of members who lost their role, on %s', (kind) => {
  const start = async (model: Model, helperModel?: Model) => {
    const place = await runtimePlace(kind);
    undo.push(place.remove);
    const helper = defineAgent({ name: 'helper', model: helperModel ?? model, tools: [askTool] });
    const agent = defineAgent({ name: 'desk', model, tools: [askTool, ...(helperModel ? [subagent(helper)] : [])] });
    const runtime = await place.open({ agents: [agent, helper] });
    undo.push(() => runtime.close());
    const root = runtime.as({ workspace, member: 'root', role: 'admin' });
    await root.members.add({ id: 'root', role: 'admin' });
    await root.members.add({ id: 'ann', role: 'approver' });
    const ann = runtime.as({ workspace, member: 'ann', role: 'approver' });
    const session = await ann.sessions.open({ agent });
    const asRoot = async (id: string): Promise<Session> => root.sessions.get(id);
    return { runtime, root, ann, session, agent, asRoot };
  };
  const work = (runtime: Runtime) => runtime.worker().start();

  test('[HAND12, HAND13] a queued run of a removed member ends before the model is asked', async () => {
    const { model, asked } = askedModel();
    const { runtime, root, session, asRoot } = await start(model);
    const run = await session.send('Go');
    await root.members.remove('ann');
    await work(runtime);
    expect(await run.result()).toMatchObject(notAllowed(/^ann was removed from acme: /));
    expect(asked).toEqual([]);
    const others = await asRoot(session.id);
    expect(await (await others.send('And mine?')).result()).toMatchObject({ status: 'succeeded' });
    await root.members.add({ id: 'ann' });
    expect(await (await session.send('Back again')).result()).toMatchObject({ status: 'succeeded' });
  });

  test('[HAND12, HAND13] a waiting run of a member who became a viewer ends when it would go on', async () => {
    const { model, asked } = askedModel([{ tool: 'ask', input: { question: 'Which?' } }]);
    const { runtime, root, session, asRoot } = await start(model);
    await work(runtime);
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ waitingFor: 'question' });
    await root.members.change('ann', { role: 'viewer' });
    await (await asRoot(session.id)).answer('call_1_0', 'This one');
    expect(await run.result()).toMatchObject(
      notAllowed(/^ann has the role viewer in acme, and a run needs at least member/),
    );
    expect(asked).toHaveLength(1);
    const results = (await session.transcript()).entries.filter(({ message }) => message.role === 'tool');
    expect(results).toHaveLength(1);
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[HAND12, HAND13] the run of a subagent ends with that of its parent', async () => {
    const helper = askedModel([{ tool: 'ask', input: { question: 'Which?' } }]);
    const boss = askedModel([{ tool: 'helper', input: { task: 'Do it' } }]);
    const { runtime, root, session, asRoot } = await start(boss.model, helper.model);
    await work(runtime);
    const run = await session.send('Go');
    const { waitsIn } = (await run.result()) as { waitsIn: string };
    await root.members.remove('ann');
    const child = await asRoot(waitsIn);
    await child.answer('call_1_0', 'This one');
    expect(await run.waitForEnd()).toMatchObject(notAllowed(/removed/));
    const ends = (await Array.fromAsync(child.events())).filter((event) => event.type === 'run.ended');
    expect(ends).toMatchObject([{ payload: { error: { code: 'MEMBER_NOT_ALLOWED' } } }]);
    expect([helper.asked.length, boss.asked.length]).toEqual([1, 1]);
  });

  test('[HAND13] an input of a removed member does not join the run of another', async () => {
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<void>();
    const wait = defineTool({
      name: 'wait',
      input: z.object({}),
      effects: 'none',
      execute: async () => {
        entered.resolve();
        await leave.promise;
        return 'waited';
      },
    });
    const { model, asked } = askedModel([{ tool: 'wait' }]);
    const place = await runtimePlace(kind);
    undo.push(place.remove);
    const agent = defineAgent({ name: 'desk', model, tools: [wait] });
    const runtime = await place.open({ agents: [agent] });
    undo.push(() => runtime.close());
    const root = runtime.as({ workspace, member: 'root', role: 'admin' });
    await root.members.add({ id: 'ann' });
    await work(runtime);
    const session = await root.sessions.open({ agent });
    const run = await session.send('Go');
    await entered.promise;
    const anns = await runtime.as({ workspace, member: 'ann' }).sessions.get(session.id);
    const steering = await anns.send('Pay me instead', { policy: 'steer' });
    await root.members.remove('ann');
    leave.resolve();
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    expect(await steering.result()).toMatchObject(notAllowed(/removed/));
    expect(JSON.stringify(asked[1]!.messages)).not.toContain('Pay me instead');
  });

  test('[HAND13, RUN16] a run goes on with a role that was lowered, and the model is told that role', async () => {
    const { model, asked } = askedModel([{ tool: 'ask', input: { question: 'Which?' } }]);
    const { runtime, root, session } = await start(model);
    await work(runtime);
    const run = await session.send('Go');
    await run.result();
    expect(asked[0]!.instructions).toContain('role approver');
    await root.members.change('ann', { role: 'member' });
    await session.answer('call_1_0', 'This one');
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(asked[1]!.instructions).toContain('role member');
  });

  test('[HAND14] a member whom the workspace never stored is the concern of the program', async () => {
    const { runtime, agent } = await start(askedModel().model);
    const guest = runtime.as({ workspace, member: 'guest' });
    await work(runtime);
    const session = await guest.sessions.open({ agent });
    expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  });
});
