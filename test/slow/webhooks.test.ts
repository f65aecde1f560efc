import { randomBytes } from 'node:crypto';
import { Webhook as Verifier } from 'standardwebhooks';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { StoredRecord } from '../../src/core/ports/records.ts';
import {
  type Clock,
  type Delivery,
  type DispatcherOptions,
  defineAgent,
  defineTool,
  openRuntime,
  type Runtime,
  type RuntimeOptions,
} from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { scriptedModel } from '../support/runs/scripted-model.ts';
import { type Receiver, startReceiver } from '../support/servers/webhook-receiver.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const secretText = 'the colour of the bicycle shed';
const wipe = defineTool({
  name: 'wipe',
  input: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => `wiped ${what}`,
});
const agent = defineAgent({
  name: 'tester',
  version: 1,
  model: scriptedModel([{ id: 'c1', tool: 'wipe', input: { what: secretText } }]),
  tools: [wipe],
});

const allowPrivate = { allowPrivate: true };
const soon: DispatcherOptions = { retryMs: [1, 1, 1, 1, 1, 1, 1], pollMs: 20 };

const open = async (options: Partial<RuntimeOptions> = {}): Promise<Runtime> => {
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [agent],
    worker: false,
    outbound: allowPrivate,
    onWarning: (problem) => {
      throw problem;
    },
    ...options,
  });
  onTestFinished(() => runtime.close());
  return runtime;
};

const dispatching = (runtime: Runtime, options: DispatcherOptions = soon) => {
  const dispatcher = runtime.dispatcher(options);
  dispatcher.start();
  return dispatcher;
};

const endRun = async (runtime: Runtime, id?: string) => {
  const session = id ? await runtime.sessions.get(id) : await runtime.sessions.open({ agent });
  const run = await session.send(secretText);
  await run.cancel();
  return { session, run };
};

const isOf =
  (type: string) =>
  ({ message }: Receiver['received'][number]) =>
    message.type === type;

/** Waits until the delivery log contains a matching delivery. */
const deliveryOf = async (runtime: Runtime, webhook: string, isThere: (delivery: Delivery) => boolean) =>
  vi.waitFor(
    async () => {
      const { deliveries } = await runtime.webhooks.deliveries(webhook);
      const found = deliveries.find(isThere);
      if (!found) throw new Error(`not there yet: ${JSON.stringify(deliveries)}`);
      return found;
    },
    { timeout: 20_000, interval: 10 },
  );

const isOver = ({ status }: Delivery) => status !== 'pending';

describe('events that webhooks receive', () => {
  test('[HOOK1, HOOK11, HOOK3] include ended runs, requested approvals and changed sessions, signed and without any content', async () => {
    const receiver = await startReceiver();
    const runtime = await open();
    const { webhook, secret } = await runtime.webhooks.add({
      url: receiver.url,
      events: ['run.ended', 'approval.requested', 'session.changed'],
    });
    dispatching(runtime);
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent, title: secretText });
    const run = await session.send(secretText);
    const [asked] = await receiver.arrived(1, isOf('approval.requested'));
    const [approval] = await runtime.approvals.list();
    const data = { workspace: 'local', session: session.id, run: run.id };
    expect(asked!.message).toEqual({
      type: 'approval.requested',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      data: { ...data, approval: approval!.id, seq: expect.any(Number) },
    });
    await runtime.approvals.approve(approval!.id);
    await run.result();
    const [ended] = await receiver.arrived(1, isOf('run.ended'));
    expect(ended!.message.data).toEqual({ ...data, status: 'succeeded', seq: expect.any(Number) });
    const { seq } = await session.summary();
    await receiver.arrived(1, ({ message }) => message.type === 'session.changed' && message.data.seq === seq);
    for (const { headers, body, message } of receiver.received) {
      expect(new Verifier(secret).verify(body, headers as Record<string, string>)).toEqual(message);
      expect(body).not.toContain(secretText);
      expect(headers['content-type']).toBe('application/json');
    }
    const kept = JSON.stringify([await runtime.webhooks.list(), await runtime.webhooks.deliveries(webhook.id)]);
    expect(kept).not.toContain(secret);
    expect(kept).not.toContain(secretText);
  });

  test('[HOOK1, HOOK10] are sent only from the time the webhook is added, enabled again or subscribed to their type, and only of subscribed types', async () => {
    const receiver = await startReceiver();
    const clock = steppingClock();
    const runtime = await open({ clock });
    const before = await endRun(runtime);
    clock.step(10);
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['approval.requested'] });
    dispatching(runtime);
    const unwanted = await endRun(runtime, before.session.id);
    clock.step(10);
    expect((await runtime.webhooks.change(webhook.id, { events: ['run.ended'] })).events).toEqual(['run.ended']);
    const first = await endRun(runtime, before.session.id);
    await receiver.arrived(1);
    await runtime.webhooks.change(webhook.id, { enabled: false });
    const missed = await endRun(runtime);
    clock.step(10);
    expect(await runtime.webhooks.change(webhook.id, { enabled: true })).not.toHaveProperty('disabledAt');
    const last = await endRun(runtime, missed.session.id);
    await receiver.arrived(2);
    const deliveredRuns = receiver.received.map(({ message }) => message.data.run);
    expect(deliveredRuns).toEqual([first.run.id, last.run.id]);
    expect(deliveredRuns).not.toContain(unwanted.run.id);
  });

  test('[HOOK1] do not repeat for a fork what its parent caused, even after the delivery log is pruned', async () => {
    const receiver = await startReceiver();
    const store = openMemoryStore();
    const runtime = await open({ store });
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime);
    const parent = await endRun(runtime);
    await receiver.arrived(1);
    await deliveryOf(runtime, webhook.id, isOver);
    const [{ id, version }] = (await store.records('local' as never, 'delivery', { limit: 1 })) as [StoredRecord];
    await store.writeRecords('local' as never, [{ kind: 'delivery', id, onVersion: version, body: undefined }]);
    const child = await parent.session.fork();
    const own = await endRun(runtime, child.id);
    await receiver.arrived(2);
    expect(receiver.received.map(({ message }) => message.data.run)).toEqual([parent.run.id, own.run.id]);
  });

  test('[HOOK1, FORK6] include the runs that a rewind cancels', async () => {
    const receiver = await startReceiver();
    const runtime = await open();
    await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime);
    const session = await runtime.sessions.open({ agent });
    const run = await session.send(secretText);
    await session.rewind({ to: { turn: 0 } });
    const [delivery] = await receiver.arrived(1);
    expect(delivery!.message.data).toMatchObject({ run: run.id, status: 'cancelled' });
  });

  test('[HOOK1] report a session that changes repeatedly once a second, and finally its newest head', async () => {
    const receiver = await startReceiver();
    const clock = steppingClock();
    const runtime = await open({ clock });
    await runtime.webhooks.add({ url: receiver.url, events: ['session.changed'] });
    dispatching(runtime);
    const session = await runtime.sessions.open();
    await receiver.arrived(1);
    for (let i = 0; i < 20; i++) await session.append({ role: 'user', content: 'x' });
    clock.step(1000);
    await session.append({ role: 'user', content: 'x' });
    await receiver.arrived(1, ({ message }) => message.data.seq === 22);
    expect(receiver.received.length).toBeLessThanOrEqual(3);
  });

  test('[HOOK10] skip a long history from before the webhook was added', async () => {
    const receiver = await startReceiver();
    const clock = steppingClock();
    const store = openMemoryStore();
    let read = 0;
    const counting = overrideStore(store, {
      read: async (key, range) => {
        const events = await store.read(key, range);
        read += events.length;
        return events;
      },
    });
    const runtime = await open({ store: counting, clock });
    const { session } = await endRun(runtime);
    for (let i = 0; i < 600; i++) await session.append({ role: 'user', content: 'x' });
    clock.step(1000);
    await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    await session.append({ role: 'user', content: 'x' });
    read = 0;
    dispatching(runtime);
    const { run } = await endRun(runtime, session.id);
    await receiver.arrived(1);
    expect(receiver.received[0]!.message.data.run).toBe(run.id);
    expect(read).toBeLessThan(300);
  });

  test('[HOOK2] are found by the periodic sweep when no hint arrives, even if they happened before any dispatcher ran', async () => {
    const receiver = await startReceiver();
    const store = overrideStore(openMemoryStore(), { watchWorkspace: () => () => undefined });
    const runtime = await open({ store });
    await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const first = await endRun(runtime);
    const dispatcher = dispatching(runtime, { ...soon, sweepMs: 20 });
    await receiver.arrived(1);
    const second = await endRun(runtime);
    await receiver.arrived(2);
    await dispatcher.stop();
    const third = await endRun(runtime, first.session.id);
    dispatching(runtime, { ...soon, sweepMs: 20 });
    await receiver.arrived(1, ({ message }) => message.data.run === third.run.id);
    // A delivery that was in flight at the stop is sent again.
    const deliveredRuns = new Set(receiver.received.map(({ message }) => message.data.run));
    expect([...deliveredRuns]).toEqual([first, second, third].map(({ run }) => run.id));
  });

  test('[WORKER16] a stopped dispatcher refuses to start again, and says what to do', async () => {
    const runtime = await open();
    const dispatcher = dispatching(runtime);
    await dispatcher.stop();
    const refusal = { code: 'RUNTIME_CLOSED', message: expect.stringContaining('runtime.dispatcher()') };
    expect(() => dispatcher.start()).toThrow(expect.objectContaining(refusal));
  });

  test('[HOOK2] cause almost no store requests while there is no webhook, and the first webhook still receives every event', async () => {
    const receiver = await startReceiver();
    const beside = openMemoryStore();
    let asked = 0;
    const store = overrideStore(beside, {
      records: async (...query) => {
        asked += 1;
        return beside.records(...query);
      },
    });
    const runtime = await open({ store });
    dispatching(runtime, { ...soon, pollMs: 60_000 });
    for (let i = 0; i < 50; i++) await runtime.sessions.open();
    expect(asked).toBeLessThan(10);
    await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const { run } = await endRun(runtime);
    const [got] = await receiver.arrived(1);
    expect(got!.message.data.run).toBe(run.id);
  });

  test('[HOOK2] describe an unreadable event by its header alone', async () => {
    const receiver = await startReceiver();
    const beside = openMemoryStore();
    const store = overrideStore(beside, {
      read: async (key, range) =>
        (await beside.read(key, range)).map((event) =>
          event.type === 'run.ended' ? { ...event, body: { kind: 'damaged', reason: 'by hand' } as const } : event,
        ),
    });
    const runtime = await open({ store, onWarning: () => undefined });
    await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime);
    const { run } = await endRun(runtime);
    const [got] = await receiver.arrived(1);
    expect(got!.message.data).toMatchObject({ run: run.id });
    expect(got!.message.data).not.toHaveProperty('status');
  });
});

const steppingClock = (): Clock & { step(ms: number): void } => {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    step: (ms) => {
      ahead += ms;
    },
  };
};

describe('deliveries', () => {
  test('[HOOK4, HOOK7] are retried until they succeed, and every attempt is kept', async () => {
    const receiver = await startReceiver((response, _, count) => {
      response.statusCode = count < 3 ? 500 : 204;
      response.end(count < 3 ? `no ${count}` : undefined);
    });
    const runtime = await open();
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime);
    await endRun(runtime);
    const { attempts, id, status } = await deliveryOf(runtime, webhook.id, isOver);
    expect(status).toBe('delivered');
    expect(attempts).toMatchObject([
      { status: 500, answer: 'no 1', error: 'answered 500' },
      { status: 500, answer: 'no 2', error: 'answered 500' },
      { status: 204 },
    ]);
    for (const { at, durationMs } of attempts) expect([at > 0, durationMs >= 0]).toEqual([true, true]);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id]);
  });

  test('[HOOK4] fail after eight attempts with growing pauses', async () => {
    const receiver = await startReceiver((response) => {
      response.statusCode = 503;
      response.end();
    });
    const clock = steppingClock();
    const store = openMemoryStore();
    const runtime = await open({ clock, store });
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime, { pollMs: 10 });
    await endRun(runtime);
    const waits: number[] = [];
    for (let tries = 1; tries < 8; tries++) {
      await receiver.arrived(tries);
      await deliveryOf(runtime, webhook.id, ({ attempts }) => attempts.length === tries);
      const [record] = await store.records('local' as never, 'delivery', { limit: 1 });
      const waitMs = record!.dueAt! - clock.now();
      waits.push(waitMs);
      clock.step(waitMs);
    }
    const { status, tries } = await deliveryOf(runtime, webhook.id, isOver);
    expect([status, tries]).toEqual(['failed', 8]);
    expect(waits[0]).toBeLessThan(6100);
    expect(waits.toSorted((a, b) => a - b)).toEqual(waits);
    expect(waits[6]).toBeGreaterThan(9 * 3_600_000);
  });

  test('[HOOK4, HOOK13] follow no redirect, read 1 kB of an endless response, and respect their timeout', async () => {
    const elsewhere = await startReceiver();
    const redirecting = await startReceiver((response) => response.writeHead(302, { location: elsewhere.url }).end());
    const endless = await startReceiver((response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    });
    const dripping = await startReceiver((response) => void response.write('slow'));
    const hanging = await startReceiver(() => undefined);
    const cut = await startReceiver((response) => void response.destroy());
    const runtime = await open({ webhooks: { timeoutMs: 300 } });
    const tested = async ({ url }: Receiver) => {
      const { webhook } = await runtime.webhooks.add({ url, events: ['run.ended'] });
      const { status, attempts } = await runtime.webhooks.test(webhook.id);
      return { status, ...attempts[0]! };
    };
    expect(await tested(redirecting)).toMatchObject({ status: 302, error: 'answered 302: redirects are not followed' });
    expect(elsewhere.received).toEqual([]);
    expect(await tested(endless)).toMatchObject({ status: 200, answer: 'x'.repeat(1024) });
    expect(await tested(dripping)).toMatchObject({ status: 200, answer: 'slow' });
    const hung = await tested(hanging);
    expect(hung).toMatchObject({ status: 'failed', error: 'no answer in time' });
    expect(hung.durationMs).toBeLessThan(5000);
    expect(await tested(cut)).toMatchObject({ status: 'failed', error: expect.stringContaining('socket') });
  });

  test('[HOOK4] to a hanging receiver delay no other receiver, however many there are', async () => {
    const hanging = await startReceiver(() => undefined);
    const receiver = await startReceiver();
    const runtime = await open();
    await runtime.webhooks.add({ url: hanging.url, events: ['run.ended'] });
    const session = await runtime.sessions.open({ agent });
    for (let i = 0; i < 150; i++) await endRun(runtime, session.id);
    await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime);
    await hanging.arrived(4);
    const { run } = await endRun(runtime);
    await receiver.arrived(1, ({ message }) => message.data.run === run.id);
    expect(hanging.received.length).toBeLessThanOrEqual(4);
  });

  test('[HOOK6] a webhook that answers 410 is disabled immediately, and its pending deliveries are not sent', async () => {
    const receiver = await startReceiver((response) => {
      response.statusCode = 410;
      response.end();
    });
    const runtime = await open();
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime);
    await endRun(runtime);
    const { id } = await deliveryOf(runtime, webhook.id, isOver);
    await vi.waitFor(async () => {
      const [listed] = await runtime.webhooks.list();
      expect(listed).toMatchObject({ disabledAt: expect.any(Number), disabledBecause: expect.stringContaining('410') });
    });
    await expect(runtime.webhooks.redeliver(id)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await endRun(runtime);
    expect(receiver.received).toHaveLength(1);
  });

  test('[HOOK6] a webhook without a success for three days is disabled, unless it succeeded in between', async () => {
    let isDown = true;
    const receiver = await startReceiver((response) => {
      response.statusCode = isDown ? 500 : 200;
      response.end();
    });
    const clock = steppingClock();
    const runtime = await open({ clock });
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    dispatching(runtime, { retryMs: [], pollMs: 10 });
    const endedOne = async () => {
      const { run } = await endRun(runtime);
      await deliveryOf(runtime, webhook.id, (each) => each.message.data.run === run.id && isOver(each));
    };
    const day = 24 * 3_600_000;
    await endedOne();
    clock.step(2 * day);
    isDown = false;
    await endedOne();
    isDown = true;
    await endedOne();
    clock.step(2 * day);
    await endedOne();
    expect((await runtime.webhooks.list())[0]).not.toHaveProperty('disabledAt');
    clock.step(1.1 * day);
    await endedOne();
    await vi.waitFor(async () => {
      const [listed] = await runtime.webhooks.list();
      expect(listed?.disabledBecause).toBe('every delivery failed for 3 days: answered 500');
    });
    const enabled = await runtime.webhooks.change(webhook.id, { enabled: true });
    expect(enabled).not.toHaveProperty('disabledBecause');
  });

  test('[HOOK7, HOOK14] are resent under the same id, and listed page by page, newest first', async () => {
    const receiver = await startReceiver();
    const runtime = await open();
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const other = await runtime.webhooks.add({ url: receiver.url, events: ['approval.requested'] });
    dispatching(runtime);
    for (let i = 1; i <= 3; i++) {
      await endRun(runtime);
      await receiver.arrived(i);
    }
    const first = await deliveryOf(runtime, webhook.id, isOver);
    await runtime.webhooks.redeliver(first.id);
    await receiver.arrived(4);
    expect(receiver.received[3]!.headers['webhook-id']).toBe(first.id);
    await deliveryOf(runtime, webhook.id, ({ id, attempts }) => id === first.id && attempts.length === 2);
    const page = await runtime.webhooks.deliveries(webhook.id, { limit: 2 });
    const rest = await runtime.webhooks.deliveries(webhook.id, { limit: 2, cursor: page.cursor });
    const ids = [...page.deliveries, ...rest.deliveries].map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    expect(ids).toEqual(ids.toSorted().reverse());
    expect(rest).not.toHaveProperty('cursor');
    expect(await runtime.webhooks.deliveries(other.webhook.id)).toEqual({ deliveries: [] });
    await runtime.webhooks.remove(webhook.id);
    expect((await runtime.webhooks.list()).map(({ id }) => id)).toEqual([other.webhook.id]);
    await expect(runtime.webhooks.deliveries(webhook.id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
    await expect(runtime.webhooks.redeliver(first.id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
  });

  test('[HOOK3, HOOK14] a rotated secret no longer signs', async () => {
    const receiver = await startReceiver();
    const runtime = await open();
    const { webhook, secret } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const rotated = await runtime.webhooks.rotate(webhook.id);
    expect(rotated.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { status, message } = await runtime.webhooks.test(webhook.id);
    expect([status, message.type]).toEqual(['delivered', 'webhook.test']);
    const [{ body, headers }] = (await receiver.arrived(1)) as [Receiver['received'][0]];
    const check = (key: string) => () => new Verifier(key).verify(body, headers as Record<string, string>);
    expect(check(rotated.secret)()).toEqual(message);
    expect(check(secret)).toThrow();
  });

  test('[HOOK3] a secret is encrypted if a master key exists, and survives the rotation of that key; without the key only the webhook is affected', async () => {
    const receiver = await startReceiver();
    const database = newMemoryDatabase();
    const [first, second] = [1, 2].map(() => randomBytes(32).toString('base64'));
    const opened = (masterKey?: string) =>
      open({ store: openMemoryStore(database), ...(masterKey !== undefined && { masterKey }) });
    const runtime = await opened(first);
    const { webhook, secret } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const kept = async () =>
      JSON.stringify(await openMemoryStore(database).records('local' as never, 'webhook', { limit: 9 }));
    expect(await kept()).not.toContain(secret.slice(6));
    const statusBy = async (by: Runtime) => (await by.webhooks.test(webhook.id)).status;
    expect(await statusBy(runtime)).toBe('delivered');
    await runtime.rotateMasterKey(second!);
    expect(await statusBy(await opened(second))).toBe('delivered');
    const { body, headers } = receiver.received[1]!;
    new Verifier(secret).verify(body, headers as Record<string, string>);
    for (const other of [await opened(), await opened(first)]) {
      expect((await other.webhooks.test(webhook.id)).attempts[0]!.error).toContain('master key');
      await endRun(other);
    }
    const unsealed = await (await opened()).webhooks.add({ url: receiver.url, events: ['run.ended'] });
    expect(await kept()).toContain(unsealed.secret);
  });

  test('[HOOK7] are kept for seven days and up to 1,000 per webhook; pending ones are never removed', async () => {
    const hanging = await startReceiver((response) => {
      response.statusCode = 500;
      response.end();
    });
    const clock = steppingClock();
    const store = openMemoryStore();
    const runtime = await open({ clock, store });
    const { webhook } = await runtime.webhooks.add({ url: hanging.url, events: ['run.ended'] });
    const old = await runtime.webhooks.test(webhook.id);
    const dispatcher = dispatching(runtime, { retryMs: [100 * 24 * 3_600_000], pollMs: 10 });
    await endRun(runtime);
    await deliveryOf(runtime, webhook.id, ({ attempts, status }) => status === 'pending' && attempts.length === 1);
    await dispatcher.stop();
    clock.step(8 * 24 * 3_600_000);
    const made = Array.from({ length: 1100 }, (_, i) => ({
      kind: 'delivery' as const,
      id: `${old.id.slice(0, 31)}${(clock.now() - 2000 + i).toString(16).padStart(12, '0')}_${'0'.repeat(16)}`,
      onVersion: 0,
      body: JSON.parse(JSON.stringify({ ...old })),
    })).map((write) => ({ ...write, body: { ...write.body, id: write.id } }));
    await store.writeRecords('local' as never, made);
    dispatching(runtime, { pollMs: 10 });
    await vi.waitFor(
      async () => {
        const left = await store.records('local' as never, 'delivery', { limit: 2000 });
        expect(left.length).toBe(1001);
        const pending = left.filter(({ dueAt }) => dueAt !== undefined);
        expect(pending.length).toBe(1);
        expect(left.some(({ id }) => id === old.id)).toBe(false);
        expect(left.at(-1)!.id).toBe(made.at(-1)!.id);
      },
      { timeout: 20_000 },
    );
  });
});

describe('several dispatchers', () => {
  test.each(['memory', ...storeKinds] as const)(
    '[HOOK2, HOOK5] on one %s store send each delivery once, however many events happen at the same time',
    async (kind) => {
      const receiver = await startReceiver();
      const database = newMemoryDatabase();
      const place = kind === 'memory' ? undefined : await newStorePlace(kind);
      const runtimes = await Promise.all(
        [1, 2, 3].map(() => open({ store: place?.address ?? openMemoryStore(database) })),
      );
      onTestFinished(async () => {
        for (const runtime of runtimes) await runtime.close();
        await place?.remove();
      });
      const [writer, ...others] = runtimes as [Runtime, Runtime, Runtime];
      const { webhook } = await writer.webhooks.add({ url: receiver.url, events: ['run.ended'] });
      for (const runtime of others) dispatching(runtime, { ...soon, sweepMs: 50 });
      const runs = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const { session, run } = await endRun(writer);
          return [run.id, (await endRun(writer, session.id)).run.id];
        }),
      );
      await receiver.arrived(20);
      const { deliveries } = await writer.webhooks.deliveries(webhook.id);
      expect(deliveries.map(({ attempts, tries }) => [attempts.length <= 1, tries])).toEqual(
        deliveries.map(() => [true, 1]),
      );
      expect(receiver.received.map(({ message }) => message.data.run).toSorted()).toEqual(runs.flat().toSorted());
    },
  );

  test('[HOOK5] that find the same due deliveries send each once', async () => {
    const receiver = await startReceiver();
    const database = newMemoryDatabase();
    const [runtime, other] = [
      await open({ store: openMemoryStore(database) }),
      await open({ store: openMemoryStore(database) }),
    ];
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const first = dispatching(runtime);
    for (let i = 0; i < 4; i++) await endRun(runtime);
    await vi.waitFor(async () => {
      const { deliveries } = await runtime.webhooks.deliveries(webhook.id);
      expect(deliveries.filter(isOver)).toHaveLength(4);
    });
    await first.stop();
    const { deliveries } = await runtime.webhooks.deliveries(webhook.id);
    for (const { id } of deliveries) await runtime.webhooks.redeliver(id);
    for (const each of [runtime, other]) dispatching(each);
    for (const { id } of deliveries) {
      await deliveryOf(runtime, webhook.id, (each) => each.id === id && each.attempts.length === 2);
    }
    await Promise.all([runtime.close(), other.close()]);
    expect(receiver.received).toHaveLength(8);
  });

  test('[HOOK5] a stopped dispatcher aborts what it is sending, and the next one sends it', async () => {
    const receiver = await startReceiver((response, _, count) => {
      if (count > 1) response.end();
    });
    const runtime = await open();
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const dispatcher = dispatching(runtime);
    await endRun(runtime);
    await receiver.arrived(1);
    await dispatcher.stop();
    await dispatcher.stop();
    dispatching(runtime);
    const { status, tries } = await deliveryOf(runtime, webhook.id, isOver);
    expect([status, tries]).toEqual(['delivered', 1]);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toHaveLength(2);
  });

  test('[HOOK2, HOOK5] a dispatcher killed at any moment loses nothing, and a delivery sent twice keeps its id', async () => {
    const receiver = await startReceiver((response) => void setTimeout(() => response.end(), 30));
    const place = await newStorePlace('sqlite');
    const runtime = await open({ store: place.address });
    onTestFinished(async () => {
      await runtime.close();
      await place.remove();
    });
    await runtime.webhooks.add({ url: receiver.url, events: ['run.ended'] });
    const session = await runtime.sessions.open({ agent });
    const dispatcher = `
      import { openRuntime } from ${moduleUrl('src/index.ts')};
      const runtime = await openRuntime({ store: ${JSON.stringify(place.address)}, outbound: { allowPrivate: true } });
      runtime.dispatcher({ retryMs: [1, 1, 1], claimMs: 500, pollMs: 20, sweepMs: 100 }).start();
      console.log('started');
    `;
    const runs: string[] = [];
    for (let round = 0; round < 3; round++) {
      const other = runScript(dispatcher);
      expect(await other.line()).toBe('started');
      const before = receiver.received.length;
      for (let i = 0; i < 5; i++) runs.push((await endRun(runtime, session.id)).run.id);
      await receiver.arrived(before + 1 + round);
      other.kill();
      await other.ended;
    }
    const last = runScript(dispatcher);
    onTestFinished(() => last.kill());
    const isTold = (run: string) => receiver.received.some(({ message }) => message.data.run === run);
    while (!runs.every(isTold)) await receiver.arrived(receiver.received.length + 1);
    const ids = new Map(receiver.received.map(({ headers, message }) => [headers['webhook-id'], message.data.run]));
    expect([...ids.values()].toSorted()).toEqual(runs.toSorted());
  });
});

describe('allowed webhook addresses', () => {
  test('[HOOK8, HOOK12] an address that is private, not https or contains a password is rejected when it is added', async () => {
    const runtime = await open({ outbound: {} });
    const refused = [
      'http://example.org/hooks',
      'https://127.0.0.1/hooks',
      'https://[::1]/hooks',
      'https://localhost/hooks',
      'https://LOCALHOST./',
      'https://a.localhost/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://[::ffff:10.0.0.1]/',
      'https://ann:secret@example.org/',
      'ftp://example.org',
      'nonsense',
    ];
    for (const url of refused) {
      const adding = runtime.webhooks.add({ url, events: ['run.ended'] });
      await expect(adding, url).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    const { webhook } = await runtime.webhooks.add({ url: 'https://example.org/hooks', events: ['run.ended'] });
    const named = await runtime.webhooks.add({ url: 'https://notlocalhost.example.org/', events: ['run.ended'] });
    await runtime.webhooks.remove(named.webhook.id);
    const changing = runtime.webhooks.change(webhook.id, { url: 'https://10.0.0.1/' });
    await expect(changing).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await runtime.webhooks.list()).toEqual([webhook]);
  });

  test('[HOOK8] a name that resolves to a private address is rejected at delivery', async () => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const runtime = await open({ outbound: { resolve } });
    const { webhook } = await runtime.webhooks.add({ url: 'https://hooks.invalid/', events: ['run.ended'] });
    const { status, attempts } = await runtime.webhooks.test(webhook.id);
    expect(status).toBe('failed');
    expect(attempts[0]!.error).toMatch(/^hooks\.invalid is not at a public address/);
  });

  test('[HOOK8] when one address of a name is private, none is used', async () => {
    const resolve = async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ];
    const runtime = await open({ outbound: { resolve } });
    const { webhook } = await runtime.webhooks.add({ url: 'https://hooks.invalid/', events: ['run.ended'] });
    const { attempts } = await runtime.webhooks.test(webhook.id);
    expect(attempts[0]!.error).toMatch(/^hooks\.invalid is not at a public address/);
  });

  test('[HOOK8] the connection goes to the checked address: the name is resolved once', async () => {
    const receiver = await startReceiver();
    const resolve = vi.fn(async () => [{ address: '127.0.0.1', family: 4 }]);
    const runtime = await open({ outbound: { ...allowPrivate, resolve } });
    const url = receiver.url.replace('127.0.0.1', 'hooks.invalid');
    const { webhook } = await runtime.webhooks.add({ url, events: ['run.ended'] });
    expect((await runtime.webhooks.test(webhook.id)).status).toBe('delivered');
    expect(resolve).toHaveBeenCalledTimes(1);
    expect(receiver.received[0]!.headers.host).toBe(new URL(url).host);
  });
});
