import { Webhook as Verifier } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ModelFailure } from '../../src/core/ports/model.ts';
import { type Agent, type AgentDefinition, defineAgent } from '../../src/index.ts';
import { askTool, handOffTool, subagent } from '../../src/tools/index.ts';
import { askedModel } from '../support/runs/asked-model.ts';
import { type Receiver, startReceiver } from '../support/servers/webhook-receiver.ts';
import { runtimePlace } from '../support/stores/runtime-places.ts';
import { storeKinds } from '../support/stores/stores.ts';

const confidential = 'the colour of the bicycle shed';
const isOf =
  (type: string) =>
  ({ message }: Receiver['received'][number]) =>
    message.type === type;

describe.each(storeKinds)('webhooks about what needs people, on %s', (kind) => {
  const start = async (definition: AgentDefinition, ...others: readonly Agent[]) => {
    const receiver = await startReceiver();
    const place = await runtimePlace(kind);
    onTestFinished(place.remove);
    const agent = defineAgent(definition);
    const runtime = await place.open({ agents: [agent, ...others], outbound: { allowPrivate: true } });
    onTestFinished(() => runtime.close());
    const { webhook, secret } = await runtime.webhooks.add({
      url: receiver.url,
      events: ['question.asked', 'budget.waiting', 'session.handed', 'run.failed'],
    });
    runtime.dispatcher({ pollMs: 20 }).start();
    await runtime.worker().start();
    return { receiver, runtime, agent, webhook, secret };
  };

  test('[HAND15, HOOK1, HOOK3, HOOK11] tell of questions and handoffs, signed and without any content', async () => {
    const { model } = askedModel(
      [{ tool: 'ask', input: { question: confidential } }],
      [{ tool: 'hand_off', input: { reason: confidential, role: 'approver' } }],
    );
    const { receiver, runtime, agent, secret } = await start({ name: 'desk', model, tools: [askTool, handOffTool] });
    const session = await runtime.sessions.open({ agent });
    const run = await session.send(confidential);
    const [asked] = await receiver.arrived(1, isOf('question.asked'));
    const data = { workspace: 'local', session: session.id, run: run.id, seq: expect.any(Number) };
    expect(asked!.message.data).toEqual({ ...data, call: 'call_1_0' });
    await session.answer('call_1_0', confidential);
    const [handed] = await receiver.arrived(1, isOf('session.handed'));
    expect(handed!.message.data).toEqual({ ...data, holder: 'human', role: 'approver' });
    await session.handoff({ to: { member: 'bob' }, reason: confidential });
    const [, on] = await receiver.arrived(2, isOf('session.handed'));
    await session.handoff({ to: 'agent', reason: confidential });
    const [, , back] = await receiver.arrived(3, isOf('session.handed'));
    expect(on!.message.data).toEqual({ ...data, holder: 'human', member: 'bob' });
    expect(back!.message.data).toEqual({ ...data, holder: 'agent' });
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
    for (const { headers, body, message } of receiver.received) {
      expect(new Verifier(secret).verify(body, headers as Record<string, string>)).toEqual(message);
      expect(body).not.toContain(confidential);
    }
  });

  test('[HAND15, HOOK2] tell of a failed run by its code, and of no run that succeeded', async () => {
    const { model } = askedModel();
    let fails = true;
    const failing = {
      ...model,
      answer: (...args: Parameters<typeof model.answer>) => {
        if (fails) throw new ModelFailure('refused', confidential);
        return model.answer(...args);
      },
    };
    const { receiver, runtime, agent, webhook } = await start({ name: 'desk', model: failing });
    const session = await runtime.sessions.open({ agent });
    const failed = await session.send('Go');
    expect(await failed.result()).toMatchObject({ status: 'failed' });
    const [delivery] = await receiver.arrived(1);
    expect(delivery!.message).toMatchObject({
      type: 'run.failed',
      data: { session: session.id, run: failed.id, status: 'failed', code: 'MODEL_REFUSED' },
    });
    fails = false;
    expect(await (await session.send('Again')).result()).toMatchObject({ status: 'succeeded' });
    await session.handoff({ to: 'human' });
    await receiver.arrived(1, isOf('session.handed'));
    const { deliveries } = await runtime.webhooks.deliveries(webhook.id);
    expect(deliveries.map(({ message }) => message.type)).toEqual(['session.handed', 'run.failed']);
    expect(receiver.received.map(({ body }) => body).join()).not.toContain(confidential);
  });

  test('[HAND15] tell of a wait for a budget once, for the session that waits', async () => {
    const helper = defineAgent({ name: 'helper', model: askedModel().model });
    const { model } = askedModel([{ tool: 'helper', input: { task: confidential } }]);
    // With a limit in USD, the model of the helper is not called, because its price is unknown.
    const boss = { name: 'boss', model: { ...model, price: { input: 0, output: 0 } }, tools: [subagent(helper)] };
    const { receiver, runtime, agent, webhook } = await start(boss, helper);
    const session = await runtime.sessions.open({ agent, budget: { usd: 1 } });
    const run = await session.send('Go');
    const { waitsIn } = (await run.result()) as { waitsIn?: string };
    expect(waitsIn).toBeDefined();
    await session.handoff({ to: 'human' });
    await receiver.arrived(1, isOf('session.handed'));
    const [wait] = await receiver.arrived(1, isOf('budget.waiting'));
    const { deliveries } = await runtime.webhooks.deliveries(webhook.id);
    expect(deliveries.map(({ message }) => message.type).toSorted()).toEqual(['budget.waiting', 'session.handed']);
    expect(wait!.message.data).toEqual({
      workspace: 'local',
      session: waitsIn,
      run: expect.stringMatching(/^run_/),
      seq: expect.any(Number),
    });
  });
});
