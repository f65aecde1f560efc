import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { defineAgent, defineScript, defineTool, type MemberRole, openRuntime } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { subagent } from '../../src/tools/index.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const input = z.object({});
const tools = [
  defineTool({ name: 'open', input, approval: true, execute: () => 'done' }),
  defineTool({ name: 'admins', input, approval: { roles: ['admin'] }, execute: () => 'done' }),
  defineTool({ name: 'others', input, approval: { notRequester: true }, execute: () => 'done' }),
];
const scriptCalling = (tool: string) =>
  scriptedModel(defineScript({ name: tool, steps: [{ calls: [{ tool, input: {} }] }, { text: 'Done.' }] }));

const start = async (model: Model) => {
  const helper = defineAgent({ name: 'helper', version: 1, model, tools });
  const boss = defineAgent({
    name: 'boss',
    version: 1,
    model: scriptedModel(
      defineScript({
        name: 'boss',
        steps: [{ calls: [{ tool: 'helper', input: { task: 'Do it' } }] }, { text: 'Thanks.' }],
      }),
    ),
    tools: [subagent(helper)],
  });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [helper, boss], worker: false });
  undo.push(() => runtime.close());
  const as = (member: string, role?: MemberRole, name?: string) =>
    runtime.as({
      workspace: 'acme',
      member,
      ...(role && { role }),
      ...(name && { profile: { name, about: 'Likes tea.' } }),
    });
  await runtime.as({ workspace: 'acme', member: 'worker' }).worker().start();
  return { runtime, as, helper, boss };
};

describe('approvals', () => {
  const asked = async (tool: string, role: MemberRole = 'member') => {
    const setup = await start(scriptCalling(tool));
    const ann = setup.as('ann', role);
    const session = await ann.sessions.open({ agent: setup.helper });
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    const [approval] = await ann.approvals.list();
    return { ...setup, run, session, id: approval!.id };
  };
  const forbidden = { code: 'APPROVAL_FORBIDDEN' };

  test('[APPR3] a call without roles can be approved by approvers and admins', async () => {
    const { as, id, run } = await asked('open');
    for (const role of [undefined, 'member'] as const) {
      await expect(as('bob', role).approvals.approve(id)).rejects.toMatchObject(forbidden);
      await expect(as('bob', role).approvals.deny(id)).rejects.toMatchObject(forbidden);
    }
    await expect(as('bob', 'viewer').approvals.approve(id)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await as('bob', 'approver').approvals.approve(id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  });

  test('[APPR3, KEY4] a member who may not answer cannot block the answer by using its key', async () => {
    const { as, id, run, session } = await asked('open');
    const taken = { idempotencyKey: `approval:${id}` };
    const bobs = await as('bob').sessions.get(session.id);
    await expect(bobs.send('Mine', taken)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(bobs.append({ role: 'user', content: 'Mine' }, taken)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    await as('cleo', 'approver').approvals.approve(id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  });

  test('[KEY4] no caller can replace the task that a call gives its child', async () => {
    const { session } = await asked('open');
    const taken = { idempotencyKey: 'call:c1' };
    const refused = { code: 'INVALID_INPUT', message: expect.stringContaining('are reserved for the runtime') };
    await expect(session.send('Mine', taken)).rejects.toMatchObject(refused);
    await expect(session.append({ role: 'user', content: 'Mine' }, taken)).rejects.toMatchObject(refused);
    await expect(session.files.write('a.txt', 'Mine', taken)).rejects.toMatchObject(refused);
    await expect(session.artifacts.keep('mine', 'Mine', taken)).rejects.toMatchObject(refused);
  });

  test('[APPR3] a call with roles can be approved by those roles only', async () => {
    const { as, id, run } = await asked('admins');
    await expect(as('bob', 'approver').approvals.approve(id)).rejects.toMatchObject(forbidden);
    await as('bob', 'admin').approvals.approve(id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  });

  test('[APPR3, APPR5] the requester, or a member who steered the run, is not accepted as another person', async () => {
    const { as, id, session, run } = await asked('others', 'admin');
    await expect(as('ann', 'admin').approvals.approve(id)).rejects.toMatchObject(forbidden);
    const bob = await as('bob', 'admin').sessions.get(session.id);
    await bob.send('Quickly', { policy: 'steer' });
    await expect(bob.approve(id)).rejects.toMatchObject(forbidden);
    await as('cid', 'admin').approvals.approve(id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  });

  test('[APPR3, APPR5, SUB1] for approvals of a subagent, the requester is the member who sent the input to the first agent', async () => {
    const { as, boss } = await start(scriptCalling('others'));
    const ann = as('ann', 'admin');
    const run = await (await ann.sessions.open({ agent: boss })).send('Go');
    await expect.poll(async () => (await ann.approvals.list()).length).toBe(1);
    const [approval] = await ann.approvals.list();
    expect(approval).toMatchObject({ requestedBy: 'member:ann' });
    await expect(ann.approvals.approve(approval!.id)).rejects.toMatchObject(forbidden);
    await as('worker', 'admin').approvals.approve(approval!.id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
  });
});

describe('the system prompt', () => {
  test('[RUN16] names the member that the agent works for, as they were when they asked, in any worker or replay', async () => {
    const systems: string[] = [];
    const script = scriptCalling('open');
    const spy: Model = {
      ...script,
      answer: (request, onDelta) => {
        systems.push(request.instructions);
        return script.answer(request, onDelta);
      },
    };
    const { as, helper } = await start(spy);
    const ann = as('ann', 'approver', 'Ann Smith');
    const session = await ann.sessions.open({ agent: helper });
    const run = await session.send('Go');
    await run.result();
    const [approval] = await ann.approvals.list();
    await as('ann', 'admin', 'Ann Jones').approvals.approve(approval!.id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(systems).toHaveLength(2);
    expect(systems[0]).toContain('You work for Ann Smith (member:ann, role approver) in the workspace acme.');
    expect(systems[0]).toContain('Likes tea.');
    expect(systems[1]).toBe(systems[0]);
    const { departures } = await (await as('bob', 'admin').sessions.get(session.id)).replay({ turn: 1 });
    expect(departures).toEqual([]);
    await (await (await as('bob').sessions.get(session.id)).send('Again')).result();
    expect(systems.at(-1)).toContain('You work for member:bob (role member) in the workspace acme.');
  });
});
