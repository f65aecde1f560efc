import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { defineAgent, defineScript, type MessageInput, openRuntime, type Session } from '../../src/index.ts';
import { serveHttp } from '../../src/servers/http/index.ts';
import { progressTool, rememberTool, subagent, writeTool } from '../../src/tools/index.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const remember = (key: string) => ({ tool: 'remember', input: { key, value: 1 } });
const write = (path: string, content: string) => ({ tool: 'write', input: { path, content } });
const taken = 'I will change the port because 8080 is taken';

const script = defineScript({
  name: 'test',
  steps: [
    { text: taken, calls: [write('src/a.ts', '8080'), remember('port'), remember('host')] },
    { reasoning: 'The host is still unknown', calls: [write('src/a.ts', '9090')] },
    { text: `${'long '.repeat(300)}end`, calls: [remember('long')] },
    { text: 'Done.' },
  ],
});
const agent = defineAgent({ name: 'tester', model: script, tools: [writeTool, rememberTool, progressTool] });

const call = (callId: string, text: string, tool = 'save'): MessageInput => ({
  role: 'assistant',
  content: [
    { type: 'text', text },
    { type: 'tool-call', callId, tool, input: {} },
  ],
});
const result = (callId: string, tool = 'save'): MessageInput => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId, tool, outcome: 'ok', output: 'saved' }],
});

describe.each(storeKinds)('what the agent said, on %s', (kind) => {
  let place: StorePlace;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());

  const start = async (agents = [agent]) => {
    const runtime = await openRuntime({ store: place.address, agents });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const runOnce = async () => {
    const runtime = await start();
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    return { runtime, session };
  };
  const messageWith = async (session: Session, text: string) =>
    (await session.transcript()).entries.find(({ message }) =>
      message.content.some((part) => 'text' in part && part.text === text),
    )!;

  test('[WHY1, WHY2] commits, calls, file versions and diffs of a run say what the agent said', async () => {
    const { session } = await runOnce();
    const asked = await messageWith(session, taken);
    const said = { message: asked.message.id, seq: asked.seq, text: taken };
    const thought = expect.objectContaining({ reasoning: 'The host is still unknown' });
    const { commits } = await session.commits();
    expect(commits.map((commit) => commit.said)).toEqual([
      expect.objectContaining({ clipped: true }),
      thought,
      said,
      said,
      said,
    ]);
    expect(commits[0]!.said!.text).toBe('long '.repeat(200));
    expect(commits[1]!.said).not.toHaveProperty('text');
    const { calls } = await session.toolCalls();
    expect(calls.map((each) => each.said)).toEqual(commits.map((commit) => commit.said));
    const detailed = await session.toolCalls({ tool: 'remember', input: true });
    expect(detailed.calls.at(-1)).toMatchObject({ said, input: { key: 'port' } });
    expect((await session.files.history('src/a.ts')).map((version) => version.said)).toEqual([thought, said]);
    const diff = await session.diff({ turn: 0 }, { turn: 1 });
    expect(diff.commits).toMatchObject({
      '/facts/port': { after: { said } },
      '/filesModified/src~1a.ts': { after: { said: { reasoning: 'The host is still unknown' } } },
    });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[WHY1, WHY2] the log stores the reference and none of the words', async () => {
    const { session } = await runOnce();
    const asked = await messageWith(session, taken);
    const events = await Array.fromAsync(session.events());
    const commits = events.filter((event) => event.type === 'state.committed');
    expect(commits[0]!.payload.said).toEqual({ message: asked.message.id, seq: asked.seq });
    expect(JSON.stringify(commits)).not.toContain(taken);
    expect(JSON.stringify(events.filter((event) => event.type === 'tool.called'))).not.toContain(taken);
  });

  test('[WHY2] HTTP and the client return the same words', async () => {
    const { runtime, session } = await runOnce();
    const { token } = await runtime.keys.create();
    const server = await serveHttp(runtime, { checksAnswers: true });
    onTestFinished(() => server.stop());
    const there = await connect({ url: server.url, key: token }).sessions.get(session.id);
    expect(await there.commits()).toEqual(await session.commits());
    expect(await there.toolCalls()).toEqual(await session.toolCalls());
    expect(await there.files.history('src/a.ts')).toEqual(
      JSON.parse(JSON.stringify(await session.files.history('src/a.ts'))),
    );
    expect(await there.diff({ turn: 0 }, { turn: 1 })).toEqual(await session.diff({ turn: 0 }, { turn: 1 }));
  });

  test('[WHY1] a subagent names a message of its own session, and its caller one of the parent', async () => {
    const helper = defineAgent({
      name: 'helper',
      model: defineScript({
        name: 'helper',
        steps: [{ text: 'I note the port', calls: [remember('port')] }, { text: 'Noted.' }],
      }),
      tools: [rememberTool],
    });
    const boss = defineAgent({
      name: 'boss',
      model: defineScript({
        name: 'boss',
        steps: [{ text: 'The helper knows it', calls: [{ tool: 'helper', input: { task: 'Go' } }] }, { text: 'Done.' }],
      }),
      tools: [subagent(helper)],
    });
    const runtime = await start([boss, helper] as never);
    const session = await runtime.sessions.open({ agent: boss });
    await (await session.send('Go')).result();
    const opened = (await Array.fromAsync(session.events())).find((event) => event.type === 'child.opened')!;
    const child = await runtime.sessions.get(opened.payload.session);
    expect((await child.commits()).commits[0]).toMatchObject({ said: { text: 'I note the port' } });
    expect((await session.commits()).commits[0]).toMatchObject({ said: { text: 'The helper knows it' } });
  });

  test('[WHY4] a tracked call is tied to a message before it, and found by its id in a message after it', async () => {
    const runtime = await start();
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'Go' });
    const begin = async (callId: string) => {
      const { token } = await session.beginCall({ tool: 'save', callId, input: {} });
      await session.endCall(callId, { token, output: 'saved', files: { [`${callId}.ts`]: 'created' } });
    };
    await session.append(call('before', 'I save it first'));
    await begin('before');
    await session.append(result('before'));
    await begin('after');
    expect((await session.commits({ limit: 1 })).commits[0]).not.toHaveProperty('said');
    await session.append([call('after', 'I saved it already'), result('after')]);
    const words = [{ said: { text: 'I saved it already' } }, { said: { text: 'I save it first' } }];
    expect((await session.commits()).commits).toMatchObject(words);
    expect((await session.toolCalls()).calls).toMatchObject(words);
    expect(await session.files.history('after.ts')).toMatchObject([words[0]]);
  });

  test('[WHY4] a message that is too far from its call is not searched for', async () => {
    const runtime = await start();
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'Go' });
    const { token } = await session.beginCall({ tool: 'save', callId: 'far', input: {} });
    await session.endCall('far', { token, output: 'saved' });
    await session.append(Array.from({ length: 256 }, (): MessageInput => ({ role: 'assistant', content: 'Hm.' })));
    await session.append([call('far', 'Too late'), result('far')]);
    expect((await session.commits()).commits[0]).not.toHaveProperty('said');
  });

  test('[WHY4] reported calls name the messages that asked for them', async () => {
    const runtime = await start();
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'Go' });
    await session.append([call('c1', 'First'), result('c1'), call('c2', 'Second'), result('c2')], {
      files: { c1: { 'a.ts': 'created' }, c2: { 'b.ts': 'created' } },
    });
    await session.append(call('c3', 'Third'));
    await session.append(result('c3'));
    const { calls } = await session.toolCalls();
    expect(calls.map((each) => each.said?.text)).toEqual(['Third', 'Second', 'First']);
    const { commits } = await session.commits();
    expect(commits.map((commit) => commit.said?.text)).toEqual(['Third', undefined]);
    expect(await session.files.history('a.ts')).toMatchObject([{ cause: { callId: 'c1' }, said: { text: 'First' } }]);
    expect(await session.files.history('b.ts')).toMatchObject([{ cause: { callId: 'c2' }, said: { text: 'Second' } }]);
  });

  test('[WHY3] a damaged or redacted message leaves the reference, and everything else is read', async () => {
    const { session } = await runOnce();
    const asked = await messageWith(session, taken);
    const store = await openStoreAt(place.address);
    let body: (hash: Uint8Array) => object = () => ({ kind: 'damaged', reason: 'rotten' });
    const runtime = await openRuntime({
      store: overrideStore(store, {
        read: async (key, range) => {
          const isFold = !range.within; // a fold of the session may come from a snapshot after the damage
          return (await store.read(key, range)).map((event) =>
            isFold || event.seq !== asked.seq ? event : { ...event, body: body(event.hash) as never },
          );
        },
      }),
    });
    onTestFinished(() => runtime.close());
    const damaged = await runtime.sessions.get(session.id);
    const said = { message: asked.message.id, seq: asked.seq };
    const commits = async () => (await damaged.commits()).commits.map((commit) => commit.said);
    expect((await commits()).slice(2)).toEqual([said, said, said]);
    expect((await commits())[1]).toHaveProperty('reasoning');
    expect((await damaged.toolCalls()).calls.map((each) => each.said).slice(2)).toEqual([said, said, said]);
    expect(await damaged.diff({ turn: 0 }, { turn: 1 })).toMatchObject({
      commits: { '/facts/port': { after: { said } } },
    });
    body = (digest) => ({ kind: 'redacted', digest });
    expect((await commits()).at(-1)).toEqual(said);
    expect((await damaged.files.history('src/a.ts')).at(-1)!.said).toEqual(said);
  });

  test('[WHY3] a message that is gone from the store leaves its session listed in the workspace', async () => {
    const { runtime, session } = await runOnce();
    const asked = await messageWith(session, taken);
    await place.edit((events) => `delete from ${events} where session = '${session.id}' and seq = ${asked.seq}`);
    const { commits } = await runtime.sessions.commits({ limit: 5 });
    expect(commits.map((commit) => commit.session)).toEqual(Array(5).fill(session.id));
    expect(commits.at(-1)!.said).toEqual({ message: asked.message.id, seq: asked.seq });
    expect(commits[1]!.said).toHaveProperty('reasoning');
  });

  test('[WHY5] a page of many commits needs few reads, and each message is read once', async () => {
    const runtime = await start();
    const session = await runtime.sessions.open();
    for (let turn = 0; turn < 20; turn++) {
      const calls = Array.from({ length: 5 }, (_, n) => `c${turn}.${n}`);
      await session.append([
        { role: 'user', content: 'Go' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: `In turn ${turn}` },
            ...calls.map((callId) => ({ type: 'tool-call' as const, callId, tool: 'save', input: {} })),
          ],
        },
      ]);
      for (const callId of calls) await session.append(result(callId));
    }
    const store = await openStoreAt(place.address);
    const reads: number[] = [];
    const counted = await openRuntime({
      store: overrideStore(store, {
        read: async (key, range) => {
          const page = await store.read(key, range);
          if (range.within) reads.push(...page.map(({ seq }) => seq), 0);
          return page;
        },
      }),
    });
    onTestFinished(() => counted.close());
    const { commits } = await (await counted.sessions.get(session.id)).commits();
    expect(commits).toHaveLength(100);
    expect(commits.map((commit) => commit.said?.text)).toEqual(
      Array.from({ length: 100 }, (_, n) => `In turn ${19 - Math.floor(n / 5)}`),
    );
    const messages = reads.filter((seq) => seq > 0);
    expect(messages).toHaveLength(20);
    expect(new Set(messages).size).toBe(20);
    expect(reads.length - messages.length).toBeLessThan(5);
  });

  test('[WHY6] a fork shows the inherited words also to a caller that does not see the parent', async () => {
    const { runtime, session } = await runOnce();
    const branch = await session.fork();
    await session.share({ visibility: 'private' });
    await branch.share({ visibility: 'workspace' });
    const mine = runtime.as({ workspace: 'local', member: 'bob', role: 'member' });
    const seen = await mine.sessions.get(branch.id);
    expect((await seen.commits()).commits.at(-1)).toMatchObject({ said: { text: taken } });
    expect((await seen.toolCalls()).calls.at(-1)).toMatchObject({ said: { text: taken } });
    await expect(mine.sessions.get(session.id).then((each) => each.commits())).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
    const all = await mine.sessions.commits();
    expect(all.commits.some((commit) => commit.session === session.id)).toBe(false);
  });
});
