import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, type Identity, openRuntime, type Session } from '../../src/index.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const pay = defineTool({ name: 'pay', input: z.object({ iban: z.string() }), execute: () => 'paid' });
const agent = defineAgent({
  name: 'clerk',
  model: defineScript({
    name: 'clerk',
    everyTurn: true,
    steps: [{ calls: [{ tool: 'pay', input: { iban: 'DE1' } }] }, { text: 'Done.' }],
  }),
  tools: [pay],
});
const call = { tool: 'pay', input: { iban: 'DE1' }, effects: 'once' as const };

describe.each(storeKinds)('relatives of a session that the caller does not see, on %s', (kind) => {
  const start = async () => {
    const place = await newStorePlace(kind);
    const runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
    undo.push(
      () => place.remove(),
      () => runtime.close(),
    );
    await runtime.worker().start();
    const as = (member: string, more: Partial<Identity> = {}) => runtime.as({ workspace: 'acme', member, ...more });
    return { runtime, as };
  };
  const paid = async (session: Session) => {
    await session.resume();
    const begun = await session.beginCall(call);
    if (!begun.token) throw new Error('the call was not begun');
    await session.endCall(begun.callId, { token: begun.token, output: 'paid' });
  };

  test('[SEE10] a repeat of a call in a private fork is refused without naming the fork', async () => {
    const { as } = await start();
    const parent = await as('alice').sessions.open();
    await parent.append({ role: 'user', content: 'Hello' });
    const fork = await parent.fork();
    await fork.share({ visibility: 'private' });
    await paid(fork);
    const repeat = async (member: string) => {
      const session = await as(member).sessions.get(parent.id);
      return session.beginCall(call).then(
        () => undefined,
        ({ code, message, details }) => ({ code, message, details }),
      );
    };
    const refused = await repeat('mallory');
    expect(refused).toMatchObject({ code: 'CALL_REPEATED', details: { tool: 'pay', earlier: { outcome: 'ok' } } });
    expect(refused?.message).toContain('in a session that is not visible here and succeeded');
    expect(Object.keys(refused?.details.earlier)).toEqual(['outcome']);
    expect(JSON.stringify(refused)).not.toContain(fork.id);
    expect((await repeat('alice'))?.details.earlier).toMatchObject({ session: fork.id, outcome: 'ok' });
  });

  test('[SEE10] an approval of a repeat names a private fork to nobody who does not see it', async () => {
    const { as } = await start();
    const parent = await as('alice').sessions.open({ agent });
    await parent.append({ role: 'user', content: 'Hello' });
    const [hidden, seen] = [await parent.fork(), await as('alice').sessions.open({ agent })];
    await hidden.share({ visibility: 'private' });
    await paid(hidden);
    const open = async (session: Session) => {
      expect(await (await session.send('Pay')).result()).toMatchObject({ waitingFor: 'approval' });
      const approvals = await as('eve', { role: 'approver' }).approvals.list();
      return approvals.find(({ session: id }) => id === session.id)!;
    };
    const approval = await open(parent);
    expect(approval.repeats).toEqual({ outcome: 'ok' });
    expect(JSON.stringify([approval, await Array.fromAsync(parent.events())])).not.toContain(hidden.id);
    await seen.append({ role: 'user', content: 'Hello' });
    const later = await seen.fork();
    await paid(later);
    expect((await open(seen)).repeats).toMatchObject({ session: later.id });
    await later.share({ visibility: 'private' });
    const eves = await as('eve', { role: 'approver' }).approvals.list();
    const trimmed = eves.find(({ session }) => session === seen.id)!;
    expect(trimmed.repeats).toEqual({ outcome: 'ok' });
    expect(trimmed.summary).toContain('Repeat: the same call was made in a session that is not visible here');
    expect(JSON.stringify(trimmed)).not.toContain(later.id);
    const own = (await as('alice').approvals.list()).find((each) => each.session === seen.id)!;
    expect(own.summary).toContain(later.id);
  });

  test('[SEE11] a visible fork is exported although its parent is hidden, and the parent only up to the fork', async () => {
    const { as } = await start();
    const parent = await as('alice').sessions.open({ visibility: 'private', sharedWith: ['bob'] });
    await parent.append({ role: 'user', content: 'Before the fork' });
    await parent.files.write('a.txt', 'in the fork too');
    const fork = await (await as('bob').sessions.get(parent.id)).fork();
    await parent.append({ role: 'user', content: 'After the fork' });
    await parent.share({ sharedWith: [] });
    const bobs = await as('bob').sessions.get(fork.id);
    const bundle = await Array.fromAsync(bobs.export());
    await expect(Array.fromAsync(as('bob').sessions.export([fork.id, parent.id]))).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
    const elsewhere = await start();
    const there = elsewhere.as('root', { role: 'admin' });
    await there.sessions.import(
      (async function* () {
        yield* bundle;
      })(),
    );
    const copy = await there.sessions.get(fork.id);
    expect(new TextDecoder().decode((await copy.files.read('a.txt')) as Uint8Array)).toBe('in the fork too');
    const text = JSON.stringify(await Array.fromAsync((await there.sessions.get(parent.id)).events()));
    expect([text.includes('Before the fork'), text.includes('After the fork')]).toEqual([true, false]);
  });
});
