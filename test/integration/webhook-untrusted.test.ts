import { describe, expect, onTestFinished, test } from 'vitest';
import type { Session } from '../../src/index.ts';
import { startReceiver } from '../support/servers/webhook-receiver.ts';
import { runtimePlace } from '../support/stores/runtime-places.ts';
import { storeKinds } from '../support/stores/stores.ts';

const secret = 'the colour of the bicycle shed';

const set = async (session: Session, part: 'facts' | 'scratch', keys: readonly string[], by = 'unverified') =>
  (await session.commit(
    (draft) => void Object.assign(draft[part], Object.fromEntries(keys.map((key) => [key, secret]))),
    { provenance: by as 'unverified', why: secret },
  ))!.seq;

describe.each(storeKinds)('webhooks about untrusted commits, on %s', (kind) => {
  const start = async () => {
    const place = await runtimePlace(kind);
    onTestFinished(place.remove);
    const runtime = await place.open({ outbound: { allowPrivate: true } });
    onTestFinished(() => runtime.close());
    runtime.dispatcher({ pollMs: 20 }).start();
    return runtime;
  };

  test('[HOOK15, HOOK11] tell of each commit that gives a watched path a low provenance, by ids alone', async () => {
    const runtime = await start();
    const receiver = await startReceiver();
    const events = ['state.untrusted'] as const;
    await runtime.webhooks.add({ url: receiver.url, events: [...events], watch: ['/facts/port*'] });
    const session = await runtime.sessions.open();
    await set(session, 'facts', ['port'], 'human');
    await set(session, 'scratch', ['port']);
    await set(session, 'facts', ['other']);
    const { tool } = await session.track({ tool: async () => secret });
    await tool(); // only counters
    const first = await set(session, 'facts', [`port ${secret}`, 'portable', 'other']);
    const second = await set(session, 'facts', ['ports'], 'imported');
    const told = await receiver.arrived(2);
    const data = { workspace: 'local', session: session.id };
    expect(told.map(({ message }) => message.type)).toEqual(['state.untrusted', 'state.untrusted']);
    expect(told.map(({ message }) => message.data).sort((a, b) => Number(a.seq) - Number(b.seq))).toEqual([
      { ...data, seq: first, provenance: 'unverified', paths: 2 },
      { ...data, seq: second, provenance: 'imported', paths: 1 },
    ]);
    for (const { body } of receiver.received) {
      expect(body).not.toContain(secret);
      expect(body).not.toContain('/facts');
    }
  });

  test('[HOOK16] cover facts and decisions unless told otherwise, and a change of watch counts from then on', async () => {
    const runtime = await start();
    const receiver = await startReceiver();
    const { webhook } = await runtime.webhooks.add({ url: receiver.url, events: ['state.untrusted'] });
    const session = await runtime.sessions.open();
    await set(session, 'scratch', ['a']);
    const fact = await set(session, 'facts', ['a']);
    const [told] = await receiver.arrived(1);
    expect(told!.message.data).toMatchObject({ seq: fact });
    const changed = await runtime.webhooks.change(webhook.id, { watch: ['/scratch/**'] });
    expect(changed).toMatchObject({ watch: ['/scratch/**'] });
    expect(await runtime.webhooks.list()).toEqual([changed]);
    await set(session, 'facts', ['b']);
    const scratch = await set(session, 'scratch', ['b']);
    const [, next] = await receiver.arrived(2);
    expect(next!.message.data).toMatchObject({ seq: scratch });
    for (const watch of [[], ['facts'], ['/nothing/**'], Array(21).fill('/facts/**')]) {
      await expect(runtime.webhooks.change(webhook.id, { watch })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    await expect(
      runtime.webhooks.add({ url: receiver.url, events: ['run.ended'], watch: ['/facts/**'] }),
    ).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('state.untrusted') });
  });
});
