import { fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { ModelFailure } from '../../src/core/ports/model.ts';
import { defineAgent, openRuntime, type Runtime, type RuntimeOptions, type Session } from '../../src/index.ts';
import type { EventType, SessionEvent } from '../../src/schema/event.ts';
import { type ToldModel, toldModel } from '../support/runs/told-model.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/** The first event of a type after `after`, once it is in the log. */
const eventOf = async <T extends EventType>(session: Session, type: T, after = 0): Promise<SessionEvent<T>> => {
  for await (const event of session.events({ after, follow: true })) {
    if (event.type === type) return event as SessionEvent<T>;
  }
  throw new Error(`there is no ${type}`);
};

const entriesOf = async (session: Session) =>
  (await session.transcript()).entries.map(({ message: { role, content }, brokenOff }) => ({
    role,
    content: content.map((part) => ('text' in part ? [part.type, part.text] : [part.type])),
    ...(brokenOff && { brokenOff }),
  }));

const asked = { role: 'user', content: [['text', 'Go']] };
// Not random: the end of a piece is held back while it could begin a form of this key, such as `/`, `%2F`, `Ly8v` or `8vLy`.
const masterKey = Buffer.alloc(32, 0xff).toString('base64');
const long = 'A word of many. '.repeat(300);

describe.each(storeKinds)('answers that break off on %s', (kind) => {
  const start = async (told: ToldModel = toldModel()) => {
    const { address, remove, values } = await newStorePlace(kind);
    undo.push(remove);
    const agent = defineAgent({ name: 'tester', model: told.model });
    const open = async (options: Partial<RuntimeOptions> = {}): Promise<Runtime> => {
      const runtime = await openRuntime({ store: address, agents: [agent], worker: false, masterKey, ...options });
      undo.push(() => runtime.close());
      return runtime;
    };
    const runtime = await open();
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent });
    return { ...told, agent, open, runtime, session, values };
  };

  test('[CUT1] an answer is stored in pieces while it is written, and they no longer count once it is whole', async () => {
    const { session, next } = await start();
    const run = await session.send('Go');
    const answer = await next();
    answer.say(long);
    const { payload } = await eventOf(session, 'message.progressed');
    expect(payload).toMatchObject({ pieces: [{ type: 'text', offset: 0, text: long }] });
    expect(await entriesOf(session)).toEqual([asked]);
    answer.say('The end.');
    answer.end();
    expect(await run.result()).toMatchObject({ status: 'succeeded', usage: { inputTokens: 100, outputTokens: 10 } });
    expect(await entriesOf(session)).toEqual([asked, { role: 'assistant', content: [['text', `${long}The end.`]] }]);
    expect((await session.context()).messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[CUT1] a short text is stored within two seconds', async () => {
    const { session, next, runtime } = await start();
    await session.send('Go');
    const answer = await next();
    const saidAt = Date.now();
    answer.say('Thinking', 'reasoning');
    answer.say('One');
    const { at, payload } = await eventOf(session, 'message.progressed');
    expect(at - saidAt).toBeLessThanOrEqual(2000);
    expect(payload.pieces).toEqual([
      { type: 'reasoning', offset: 0, text: 'Thinking' },
      { type: 'text', offset: 0, text: 'One' },
    ]);
    await runtime.close();
  });

  test('[CUT2, CUT3, CUT4, BUDGET3, COST2] a cancel stores what was shown: people see it, the model is told, the budget counts it', async () => {
    const { runtime, session, next } = await start();
    const run = await session.send('Go');
    const answer = await next();
    answer.say('Let me see.', 'reasoning');
    answer.say('It is twelve');
    await run.cancel();
    const broken = {
      role: 'assistant',
      content: [
        ['reasoning', 'Let me see.'],
        ['text', 'It is twelve'],
      ],
      brokenOff: 'cancelled',
    };
    expect(await entriesOf(session)).toEqual([asked, broken]);
    expect((await session.summary()).messages).toBe(1);
    const { usage } = await run.waitForEnd();
    const { payload } = await eventOf(session, 'model.called');
    expect(usage).toEqual({
      inputTokens: payload.requestTokens,
      outputTokens: 6,
      usd: (payload.requestTokens + 60) / 1e6,
    });
    expect(await session.usage()).toMatchObject({ spent: { tokens: payload.requestTokens + 6, usd: usage.usd } });
    const { rows } = await runtime.usage({ by: 'model' });
    expect(rows).toMatchObject([{ key: payload.model, own: { tokens: payload.requestTokens + 6, usd: usage.usd } }]);
    const again = await session.send('And?');
    const { request, end } = await next();
    expect(request.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'system', 'user']);
    expect(request.messages[1]!.content).toMatchObject([{ type: 'text', text: 'It is twelve' }]);
    expect(JSON.stringify(request.messages[2]!.content)).toContain('broke off there, because the run was cancelled');
    end();
    expect(await again.result()).toMatchObject({ status: 'succeeded', output: '' });
  });

  test('[CUT2] a worker that another process fenced adds what it had shown, each character once', async () => {
    const { session, next, open } = await start();
    const run = await session.send('Go');
    const answer = await next();
    answer.say(long);
    await eventOf(session, 'message.progressed');
    answer.say('And the rest.');
    const other = await (await open()).sessions.get(session.id);
    await other.cancel();
    const abandoned = await eventOf(session, 'message.abandoned');
    const rest = await eventOf(session, 'message.abandoned', abandoned.seq);
    expect(rest.payload).toMatchObject({ isRest: true, content: [{ type: 'text', text: 'And the rest.' }] });
    const broken = { role: 'assistant', content: [['text', `${long}And the rest.`]], brokenOff: 'cancelled' };
    expect(await entriesOf(other)).toEqual([asked, broken]);
    const { spent } = await other.usage();
    const { payload } = await eventOf(session, 'model.called');
    expect(spent.tokens).toBe(payload.requestTokens + Math.ceil((long.length + 13) / 4));
    expect(await run.status()).toMatchObject({ status: 'cancelled' });
  });

  test('[CUT1, CUT2] after SIGKILL the next worker keeps the pieces that were stored, and the run ends', async () => {
    const told = toldModel();
    const { address, remove } = await newStorePlace(kind);
    undo.push(remove);
    const agent = defineAgent({ name: 'tester', model: told.model });
    const runtime = await openRuntime({ store: address, agents: [agent], worker: false });
    undo.push(() => runtime.close());
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Go');
    const child = fork(new URL('../crash/answering-process.ts', import.meta.url), [address, long], {
      stdio: 'inherit',
      execArgv: [],
    });
    await eventOf(session, 'message.progressed');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await runtime.worker().start();
    const { request, say, end } = await told.next();
    expect(JSON.stringify(request.messages)).toContain('A word of many. A word');
    say('Done.');
    end();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    expect(await entriesOf(session)).toEqual([
      asked,
      { role: 'assistant', content: [['text', long]], brokenOff: 'stopped' },
      { role: 'assistant', content: [['text', 'Done.']] },
    ]);
    const { usage } = await run.waitForEnd();
    const { payload } = await eventOf(session, 'model.called');
    expect(usage).toMatchObject({ inputTokens: payload.requestTokens + 100, outputTokens: long.length / 4 + 10 });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[CUT2, CUT4] a worker that takes over makes a broken-off answer of the pieces, and asks again', async () => {
    const { session, next, open, runtime } = await start();
    await session.send('Go');
    (await next()).say(long);
    await eventOf(session, 'message.progressed');
    await runtime.close();
    const second = await open();
    await second.worker().start();
    const { request, say, end } = await next();
    expect(request.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'system']);
    say('Done.');
    end();
    const reopened = await second.sessions.get(session.id);
    await eventOf(reopened, 'run.ended');
    expect(await entriesOf(reopened)).toEqual([
      asked,
      { role: 'assistant', content: [['text', long]], brokenOff: 'stopped' },
      { role: 'assistant', content: [['text', 'Done.']] },
    ]);
    const output = (await eventOf(reopened, 'run.ended')).payload;
    expect(output).toEqual({ status: 'succeeded', output: 'Done.' });
  });

  test('[CUT2, BUDGET3] an answer that its provider broke off stays too, and is charged once', async () => {
    const { session, next } = await start();
    const run = await session.send('Go');
    const first = await next();
    first.say('It is');
    first.fail(new ModelFailure('broken-stream', 'the stream ended early'));
    const second = await next();
    second.say('Twelve.');
    second.fail(new ModelFailure('broken-stream', 'again', { usage: { inputTokens: 7, outputTokens: 1, usd: 0 } }));
    const third = await next();
    third.say('Twelve.');
    third.end();
    const { usage } = await run.waitForEnd();
    const { payload } = await eventOf(session, 'model.called');
    expect(usage.inputTokens).toBe(payload.requestTokens + 7 + 100);
    expect((await entriesOf(session)).map(({ brokenOff }) => brokenOff)).toEqual([
      undefined,
      'failed',
      'failed',
      undefined,
    ]);
    const parts = await Array.fromAsync(run.stream());
    expect(parts.filter(({ type }) => type === 'restart')).toHaveLength(2);
  });

  test('[CUT2, RUN7, RUN8] a handoff and an immediate pause keep what was shown, before what follows', async () => {
    const { session, next } = await start();
    const run = await session.send('Go');
    (await next()).say('It is tw');
    await session.handoff({ to: 'human' });
    await session.append({ role: 'assistant', content: 'It is one.' });
    await session.handoff({ to: 'agent' });
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'It is one.' });
    const broken = (text: string) => ({ role: 'assistant', content: [['text', text]], brokenOff: 'stopped' });
    const answered = { role: 'assistant', content: [['text', 'It is one.']] };
    expect(await entriesOf(session)).toEqual([asked, broken('It is tw'), answered]);
    const second = await session.send('Go');
    (await next()).say('Half');
    await session.pause({ withinMs: 0 });
    const report = { role: 'user', content: [['text', expect.stringContaining('handed it back to you')]] };
    expect((await entriesOf(session)).slice(3)).toEqual([asked, report, broken('Half')]);
    await session.resume();
    const { request, say, end } = await next();
    expect(request.messages.map(({ role }) => role).slice(-3)).toEqual(['user', 'assistant', 'system']);
    say('Whole.');
    end();
    expect(await second.result()).toMatchObject({ status: 'succeeded', output: 'Whole.' });
    expect((await entriesOf(session)).filter(({ brokenOff }) => brokenOff)).toHaveLength(2);
  });

  test('[BUDGET3] an answer that broke off within the input of a call is counted, though no text was shown', async () => {
    const { session, next } = await start();
    const run = await session.send('Go');
    const answer = await next();
    answer.say('{"path":"a.txt","content":"', 'tool-input');
    await run.cancel();
    const { payload } = await eventOf(session, 'model.called');
    expect((await run.waitForEnd()).usage).toMatchObject({ inputTokens: payload.requestTokens, outputTokens: 7 });
    expect(await entriesOf(session)).toEqual([asked]);
  });

  test('[CUT1] characters of two UTF-16 units are stored whole, wherever the stream cuts them', async () => {
    const { session, next } = await start();
    const run = await session.send('Go');
    const answer = await next();
    answer.say(`${long}😀`.slice(0, -1));
    const { payload, seq } = await eventOf(session, 'message.progressed');
    expect(payload.pieces).toEqual([{ type: 'text', offset: 0, text: long }]);
    answer.say(`${'😀'.slice(1)}${long}\u0000`);
    await eventOf(session, 'message.progressed', seq);
    await run.cancel();
    expect((await entriesOf(session))[1]!.content).toEqual([['text', `${long}😀${long}\ufffd`]]);
  });

  test('[CUT6] a fork or a rewind to a point within an answer shows what was stored up to there, and charges nothing', async () => {
    const { session, next } = await start();
    const run = await session.send('Go');
    const answer = await next();
    answer.say(long);
    const first = await eventOf(session, 'message.progressed');
    answer.say(long);
    const second = await eventOf(session, 'message.progressed', first.seq);
    answer.end();
    await run.result();
    const broken = (text: string) => [asked, { role: 'assistant', content: [['text', text]], brokenOff: 'stopped' }];
    const early = await session.fork({ at: { seq: first.seq } });
    expect(await entriesOf(early)).toEqual(broken(long));
    const spent = async (of: Session) => (await of.usage()).spent.tokens;
    expect(await spent(early)).toBe(0);
    const before = await spent(session);
    await session.rewind({ to: { seq: second.seq } });
    expect(await entriesOf(session)).toEqual(broken(long + long));
    expect(await spent(session)).toBe(before);
    const later = await session.fork({ at: { seq: second.seq } });
    expect(await entriesOf(later)).toEqual(broken(long + long));
  });

  test('[CUT7, RED14] a secret that is cut by two pieces or by the end of the answer is not stored', async () => {
    const { session, next, runtime, values } = await start();
    const secret = 'kx93-forty-two-tigers';
    await runtime.vault.set('tigers', secret);
    const run = await session.send('Go');
    const answer = await next();
    answer.say(`${long}${secret.slice(0, 9)}`);
    const { seq } = await eventOf(session, 'message.progressed');
    answer.say(`${secret.slice(9)} ${long}${secret.slice(0, 14)}`);
    await eventOf(session, 'message.progressed', seq);
    await run.cancel();
    const [, broken] = await entriesOf(session);
    expect(broken!.content).toEqual([['text', `${long}[secret tigers] ${long}`]]);
    const stored = JSON.stringify(await values());
    expect(stored).not.toContain('forty-two');
    expect(
      (await Array.fromAsync(session.events())).map(({ payload }) => JSON.stringify(payload)).join(),
    ).not.toContain('kx93');
  });

  test('[CUT7] after a secret became known that the answer contains, no further piece of it is stored', async () => {
    const { session, next, runtime } = await start();
    const secret = 'kx93-forty-two-tigers';
    const run = await session.send('Go');
    const answer = await next();
    answer.say(`${long}${secret.slice(0, 9)}`);
    const { seq } = await eventOf(session, 'message.progressed');
    await runtime.vault.set('tigers', secret);
    answer.say(`${secret.slice(9)} ${long}`);
    await run.cancel();
    const later = (await Array.fromAsync(session.events({ after: seq }))).map(({ payload }) => JSON.stringify(payload));
    expect(later.join()).not.toContain('tigers');
    expect((await entriesOf(session))[1]).toMatchObject({ brokenOff: 'cancelled' });
  });

  test('[CUT9] a reader that no preview reaches gets the stored pieces, each character once', async () => {
    const { session, next, open } = await start();
    const { id } = await session.send('Go');
    const answer = await next();
    const other = await (await open()).sessions.get(session.id);
    const parts = (await other.run(id)).stream();
    answer.say(long);
    let text = '';
    for await (const part of parts) {
      if (part.type !== 'text') continue;
      expect(part.offset).toBe(text.length);
      text += part.text;
      if (text.length < long.length) continue;
      if (text.length > long.length) break;
      answer.say('The end.');
      answer.end();
    }
    expect(text).toBe(`${long}The end.`);
  });

  test('[CUT3, CUT5] a broken-off answer is in bundles, recalls and compactions, and does not disturb a replay', async () => {
    const { session, next, runtime } = await start();
    const run = await session.send('Go');
    (await next()).say('It is twelve');
    await run.cancel();
    for (const answer of ['one', 'two']) {
      const later = await session.send(answer);
      const told = await next();
      told.say(answer);
      told.end();
      await later.result();
    }
    const elsewhere = runtime.as({ workspace: 'other', member: 'ann', role: 'admin' });
    await elsewhere.sessions.import(session.export());
    const copy = await elsewhere.sessions.get(session.id);
    expect(await entriesOf(copy)).toEqual(await entriesOf(session));
    expect(await session.recall('turn:1')).toMatchObject([{}, { brokenOff: 'cancelled' }]);
    expect(await session.replay({ turn: 1 })).toMatchObject({ departures: [], upTo: 'cancelled' });
    expect(await session.compact({ keepTurns: 1 })).toMatchObject({
      summary: expect.stringContaining('began to answer "It is twelve"'),
    });
  });
});

test('[CUT3] HTTP and the client report a broken-off answer like the library', async () => {
  const { model, next } = toldModel();
  const agent = defineAgent({ name: 'tester', model });
  const { server, keys, runtime, json } = await startTestServer({}, { agents: [agent] });
  const session = await runtime.sessions.open({ agent });
  const run = await session.send('Go');
  (await next()).say('It is twelve');
  await run.cancel();
  const afar = await connect({ url: server.url, key: keys.viewer }).sessions.get(session.id);
  const expected = (await session.transcript()).entries;
  expect(expected[1]).toMatchObject({ brokenOff: 'cancelled' });
  expect((await afar.transcript()).entries).toEqual(expected);
  expect((await json(`/v1/sessions/${session.id}/transcript`)).entries).toEqual(expected);
});
