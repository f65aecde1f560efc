import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type Session, type SessionEvent } from '../../src/index.ts';
import { defineShellTool, mcpTools, readTool, shellTool, writeTool } from '../../src/tools/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { type Stage, stageOf } from '../support/runs/injection-stage.ts';
import { ask, obedientModel } from '../support/runs/obedient-model.ts';
import { type RuntimePlace, runtimePlace } from '../support/stores/runtime-places.ts';
import { storeKinds } from '../support/stores/stores.ts';

const url = 'https://shop.example/page';
const visit = ask('fetch', { url });
const pay = ask('refund', { order: '1' });
const payMore = ask('refund', { order: '2' });

const eventsOf = async <T extends SessionEvent['type']>(session: Session, type: T) =>
  (await Array.fromAsync(session.events())).filter((event) => event.type === type) as unknown as SessionEvent<T>[];

const define = (about: object) =>
  defineTool({ name: 'a', input: z.object({}), execute: () => 1, ...about } as Parameters<typeof defineTool>[0]);

test('[TAINT3] a tool is untrusted by its declaration, by its name, as a command or as a tool of a server', async () => {
  const named = (name: string, about: object = {}) => define({ name, ...about }).untrusted;
  expect(['fetch', 'web_search', 'httpGet', 'browse'].map((name) => named(name))).toEqual([true, true, true, true]);
  expect(['fetched', 'cobweb', 'refund'].map((name) => named(name))).toEqual([false, false, false]);
  expect([named('fetch', { untrusted: false }), named('fetch', { trusted: true })]).toEqual([false, false]);
  expect(named('mail', { untrusted: true })).toBe(true);
  expect(defineShellTool({ sandbox: 'off' }).untrusted).toBe(true);
  expect(defineShellTool({ network: true }).untrusted).toBe(true);
  expect(defineShellTool({ network: true, untrusted: false }).untrusted).toBe(false);
  expect(shellTool.untrusted).toBe(shellTool.confinement !== 'sandboxed');
  const tools = [{ name: 'x', inputSchema: { type: 'object' } }];
  const [remote] = await mcpTools({ name: 's', command: 'c', tools });
  const [own] = await mcpTools({ name: 's', command: 'c', tools, untrusted: false });
  expect([remote!.untrusted, own!.untrusted]).toEqual([true, false]);
  expect(() => define({ trusted: true, untrusted: true })).toThrow('trusted and untrusted');
  expect(() => define({ untrusted: 'yes' })).toThrow('untrusted is not true or false');
  expect(() => define({ effects: 'none', safeWhenTainted: true })).toThrow('safeWhenTainted has no meaning');
});

test('[TAINT10] a policy for a tool that the agent does not have, and an unknown policy, are invalid', () => {
  const agent = (tainted: unknown) => defineAgent({ name: 'a', tools: [define({})], policies: { tainted } as never });
  expect(agent('deny').tainted).toEqual({ '*': 'deny' });
  expect(agent({ a: 'allow' }).tainted).toEqual({ a: 'allow' });
  expect(() => agent({ refnd: 'deny' })).toThrow('there is no tool refnd');
  expect(() => agent('never')).toThrow('expected allow, approve, deny');
  expect(() => agent({ a: 'never' })).toThrow('expected allow, approve, deny');
});

describe.each(storeKinds)('taint on %s', (kind) => {
  let stage: Stage;
  let place: RuntimePlace;
  beforeAll(async () => {
    place = await runtimePlace(kind);
    stage = await stageOf(place.open);
    stage.world.pages[url] = 'nine to five';
  });
  afterAll(async () => {
    await stage.runtime.close();
    await place.remove();
  });
  const open = (agent: keyof Stage['agents'] = 'clerk', options: object = {}) =>
    stage.as('ann').sessions.open({ agent: stage.agents[agent], ...options });
  const tainted = async (agent?: keyof Stage['agents']) => {
    const session = await open(agent);
    await stage.send(session, visit);
    return session;
  };
  const pending = async (session: Session) =>
    (await stage.as('bob').approvals.list()).filter((each) => each.session === session.id);

  test('[TAINT4] a result stands between marks that it cannot close, and its commit names it', async () => {
    const session = await tainted();
    const read = async () =>
      (await session.context()).messages.flatMap(({ content }) =>
        content.flatMap((part) => (part.type === 'tool-result' ? String(part.output) : [])),
      );
    const [first] = await read();
    const [, word] = /^\[untrusted ([0-9a-f]{16}): data from outside/.exec(first!)!;
    expect(first).toMatch(new RegExp(`\\nnine to five\\n\\[end of untrusted ${word}\\]$`));
    expect(await read()).toEqual([first]);
    const [completed] = await eventsOf(session, 'tool.completed');
    expect(completed!.payload).toMatchObject({ tool: 'fetch', untrusted: true, output: 'nine to five' });
    const commits = await eventsOf(session, 'state.committed');
    expect(commits.at(-1)!.payload).toMatchObject({ cause: { tool: 'fetch' }, derivedFrom: [completed!.seq] });
  });

  test('[TAINT5] people, compactions and forks do not end a taint; a rewind to before it does', async () => {
    const session = await open();
    await stage.send(session, 'Hello');
    await stage.send(session, visit);
    await stage.send(session, 'I am the user, and all is well');
    await session.compact({ keepTurns: 1 });
    const fork = await session.fork();
    const clean = await session.fork({ at: { turn: 1 } });
    for (const each of [session, fork]) {
      expect(await each.taint()).toMatchObject({ tainted: true, sources: [{ tool: 'fetch', turn: 2 }], more: 0 });
      expect(await each.summary()).toMatchObject({ tainted: ['fetch'] });
    }
    expect(await clean.taint()).toMatchObject({ tainted: false, sources: [] });
    const { seq } = await session.summary();
    await session.rewind({ to: { turn: 1 } });
    expect(await session.taint()).toMatchObject({ tainted: false });
    expect(await session.summary()).not.toHaveProperty('tainted');
    const again = await session.fork({ at: { seq } });
    expect(await again.taint()).toMatchObject({ tainted: true });
  });

  test('[TAINT6] the log of a session records what it got from a tainted one', async () => {
    const source = await tainted();
    const carried = await open('clerk', { carryFrom: source.id });
    const [inherited] = await eventsOf(carried, 'taint.inherited');
    expect(inherited!.payload).toMatchObject({ via: 'carry', from: source.id, sources: [{ tool: 'fetch' }] });
    const parent = await open();
    await stage.send(parent, ask('helper', { task: visit }));
    const [brought] = await eventsOf(parent, 'taint.inherited');
    expect(brought!.payload).toMatchObject({ via: 'subagent', sources: [{ tool: 'fetch' }] });
    expect((await eventsOf(parent, 'tool.completed')).at(-1)!.payload).toMatchObject({
      tool: 'helper',
      untrusted: true,
    });
    await stage.send(parent, ask('helper', { task: 'Hello' }));
    const child = await stage.as('ann').sessions.get((await eventsOf(parent, 'child.opened')).at(-1)!.payload.session);
    expect((await eventsOf(child, 'taint.inherited'))[0]!.payload).toMatchObject({ via: 'caller', from: parent.id });
  });

  test('[TAINT7, TAINT8] a session remembers the files that were written, up to a bound', async () => {
    const session = await tainted();
    await stage.send(session, ask('write', { path: 'docs/a.md', content: 'x' }));
    expect((await session.taint()).files).toEqual({ paths: ['docs/a.md'] });
    const branch = await session.fork();
    await stage.send(branch, ask('write', { path: 'b.md', content: 'x' }));
    await session.adopt(branch.id);
    expect((await session.taint()).files.paths.toSorted()).toEqual(['b.md', 'docs/a.md']);
    const tools = await session.track(
      { many: async (_: object) => 1 },
      {
        many: {
          effects: 'none',
          files: () => Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`f${n}`, 'created' as const])),
        },
      },
    );
    await tools.many({});
    expect((await session.taint()).files).toEqual({ paths: [], all: true });
    await session.clearTaint({ reason: 'read the page' });
    await session.files.write('own.md', 'mine');
    await stage.send(session, ask('read', { path: 'own.md' }));
    expect(await session.taint()).toMatchObject({ tainted: true, sources: [{ tool: 'read' }] });
  });

  test('[TAINT8] a session names the first result of 20 tools and counts the others', async () => {
    const session = await open();
    const results = Array.from({ length: 25 }, (_, n) => n);
    await session.append([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: results.map((n) => ({ type: 'tool-call', callId: `c${n}`, tool: `t${n}`, input: {} })),
      },
      {
        role: 'tool',
        content: results.map((n) => ({
          type: 'tool-result',
          callId: `c${n}`,
          tool: `t${n}`,
          outcome: 'ok',
          output: 'x',
        })),
      },
    ]);
    const { sources, more } = await session.taint();
    expect([sources.length, sources[0]!.tool, more]).toEqual([20, 't0', 5]);
    await stage.send(session, pay);
    const [first] = await pending(session);
    await session.approve(first!.id, { forSource: true });
    await stage.send(session, payMore);
    expect(await pending(session)).toHaveLength(1);
    await session.cancel();
  });

  test('[TAINT9] after a rewind, a file that no snapshot lists still taints', async () => {
    const session = await open();
    await session.files.write('.gitignore', 'build/\n');
    await stage.send(session, ask('read', { path: '.gitignore' }));
    await stage.send(session, visit);
    await stage.send(session, ask('write', { path: 'build/a', content: 'x' }));
    await session.rewind({ to: { turn: 1 } });
    expect(await session.taint()).toMatchObject({ tainted: false });
    await stage.send(session, ask('read', { path: '.gitignore' }));
    expect(await session.taint()).toMatchObject({ tainted: false });
    await stage.send(session, ask('read', { path: 'build/a' }));
    expect(await session.taint()).toMatchObject({ tainted: true });
  });

  test('[TAINT10] a policy denies a tool, and gates one without once effects; the model learns why', async () => {
    const session = await tainted('strict');
    await stage.send(session, pay);
    const [failed] = (await eventsOf(session, 'tool.failed')).slice(-1);
    expect(failed!.payload).toMatchObject({ tool: 'refund', outcome: 'denied' });
    expect(failed!.payload.error.message).toContain('data from outside is in the context (fetch in turn 1)');
    expect(await pending(session)).toEqual([]);
    stage.world.notices.length = 0;
    await stage.send(session, ask('notify', { text: 'hello' }));
    expect(await pending(session)).toMatchObject([{ tool: 'notify' }]);
    expect(stage.world.notices).toEqual([]);
    await session.cancel();
  });

  test('[TAINT11] an approval names what tainted the context', async () => {
    const session = await tainted();
    const [completed] = await eventsOf(session, 'tool.completed');
    await stage.send(session, pay);
    const [approval] = await pending(session);
    const source = { tool: 'fetch', session: session.id, seq: completed!.seq, turn: 1 };
    expect(approval).toMatchObject({ tool: 'refund', taintedBy: { sources: [source], more: 0 } });
    expect(approval!.summary).toBe(
      'Tainted: data from outside is in the context (fetch in turn 1). refund {"order":"1"}',
    );
    stage.world.refunds.length = 0;
    const run = (await session.runs({ limit: 1 })).runs[0]!.run;
    await stage.as('bob').approvals.approve(approval!.id);
    expect(await (await session.run(run)).waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(stage.world.refunds).toEqual(['1']);
    await stage.send(session, payMore);
    expect(await pending(session)).toHaveLength(1);
    await session.cancel();
  });

  test('[TAINT12] an approval for a source covers neither other sources nor forks, and needs an approver', async () => {
    const session = await tainted();
    await stage.send(session, pay);
    const [approval] = await pending(session);
    const member = stage.as('eve', 'member').approvals;
    expect(await failureOf(member.approve(approval!.id, { forSource: true }))).toMatchObject({
      code: 'APPROVAL_FORBIDDEN',
    });
    const run = (await session.runs({ limit: 1 })).runs[0]!.run;
    await stage.as('bob', 'approver').approvals.approve(approval!.id, { forSource: true });
    await (await session.run(run)).waitForEnd();
    expect(await session.taint()).toMatchObject({ allowed: { refund: ['fetch'] } });
    const fork = await session.fork();
    await stage.send(session, payMore);
    expect(await pending(session)).toEqual([]);
    await stage.send(fork, payMore);
    expect(await pending(fork)).toHaveLength(1);
    await fork.cancel();
    await stage.send(session, ask('inbox', { url }));
    await stage.send(session, ask('refund', { order: '3' }));
    expect(await pending(session)).toHaveLength(1);
    await session.cancel();
  });

  test('[TAINT12] forSource is refused for an approval that no taint caused', async () => {
    const guarded = defineTool({ name: 'deploy', input: z.object({}), approval: true, execute: () => 'deployed' });
    const agent = defineAgent({ name: 'guarded', model: obedientModel(), tools: [guarded] });
    const own = await place.open({ agents: [agent], worker: false });
    onTestFinished(() => own.close());
    const ann = own.as({ workspace: 'guarded', member: 'ann', role: 'admin' });
    await ann.worker().start();
    const session = await ann.sessions.open({ agent });
    await (await session.send(ask('deploy'))).result();
    const [approval] = await ann.approvals.list();
    expect(approval!.taintedBy).toBeUndefined();
    expect(await failureOf(session.approve(approval!.id, { forSource: true }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(await failureOf(session.deny(approval!.id, { forSource: true } as object))).toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  test('[TAINT13] only an approver clears, with a reason, and not what they have not seen', async () => {
    const session = await tainted();
    const eve = await stage.as('eve', 'member').sessions.get(session.id);
    expect(await failureOf(eve.clearTaint({ reason: 'x' }))).toMatchObject({ code: 'FORBIDDEN' });
    expect(await failureOf(session.clearTaint({ reason: '' }))).toMatchObject({ code: 'INVALID_INPUT' });
    const seen = await session.taint();
    stage.world.pages[`${url}/2`] = 'more';
    await stage.send(session, ask('fetch', { url: `${url}/2` }));
    expect(await failureOf(session.clearTaint({ reason: 'read it', at: seen.seq }))).toMatchObject({
      code: 'CONFLICT',
    });
    const bob = await stage.as('bob', 'approver').sessions.get(session.id);
    expect(await bob.clearTaint({ reason: 'read both' })).toMatchObject({ tainted: true, more: 1 });
    expect(await session.taint()).toMatchObject({
      tainted: false,
      sources: [],
      cleared: { by: 'member:bob', reason: 'read both' },
    });
    expect(await session.summary()).not.toHaveProperty('tainted');
    const { entries } = await stage.as('ann').audit.list({ limit: 20 });
    expect(entries).toContainEqual(
      expect.objectContaining({ verb: 'session.clearTaint', member: 'bob', target: session.id }),
    );
    expect(await eventsOf(session, 'taint.cleared')).toHaveLength(1);
    await session.clearTaint({ reason: 'again' });
    expect(await eventsOf(session, 'taint.cleared')).toHaveLength(1);
  });

  test('[TAINT15] an appended result is untrusted unless its part says otherwise', async () => {
    const result = (callId: string, untrusted?: boolean) =>
      ({
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            callId,
            tool: 'sum',
            outcome: 'ok',
            output: 3,
            ...(untrusted !== undefined && { untrusted }),
          },
        ],
      }) as const;
    const call = (callId: string) =>
      ({ role: 'assistant', content: [{ type: 'tool-call', callId, tool: 'sum', input: {} }] }) as const;
    const session = await open();
    await session.append([{ role: 'user', content: 'go' }, call('c1'), result('c1', false)]);
    expect(await session.taint()).toMatchObject({ tainted: false });
    const [, appended] = await session.append([call('c2'), result('c2')]);
    expect(appended!.payload.message.content).toMatchObject([{ untrusted: true }]);
    expect(await session.taint()).toMatchObject({ sources: [{ tool: 'sum', callId: 'c2', seq: appended!.seq }] });
    const commits = await eventsOf(session, 'state.committed');
    expect(commits.at(-1)!.payload.derivedFrom).toEqual([appended!.seq]);
    expect((await session.context()).messages.map(({ content }) => JSON.stringify(content)).join()).toContain(
      'untrusted ',
    );
  });

  test('[TAINT15, TAINT16] a tracked once call does not begin in a tainted session', async () => {
    const session = await open();
    await session.append({ role: 'user', content: 'go' });
    let paid = 0;
    const tools = await session.track(
      { refund: async () => ++paid, read: async () => 'hours', reserve: async () => 'ok', load: async () => 'page' },
      { read: { effects: 'none' }, reserve: { safeWhenTainted: true }, load: { effects: 'none', untrusted: true } },
    );
    await tools.refund();
    await tools.load();
    expect(await session.taint()).toMatchObject({ sources: [{ tool: 'load' }] });
    const { seq } = await session.summary();
    expect(await failureOf(tools.refund())).toMatchObject({
      code: 'CALL_TAINTED',
      details: { taintedBy: { sources: [{ tool: 'load' }] } },
    });
    expect((await session.summary()).seq).toBe(seq);
    expect([paid, await tools.read(), await tools.reserve()]).toEqual([1, 'hours', 'ok']);
    await session.clearTaint({ reason: 'read it' });
    await tools.refund();
    expect(paid).toBe(2);
    const client = await session.track({ callTool: async ({ name }: { name: string }) => name });
    await client.callTool({ name: 'remote' });
    expect(await session.taint()).toMatchObject({ sources: [{ tool: 'remote' }] });
    const contradiction = session.track({ a: async () => 1 }, { a: { trusted: true, untrusted: true } });
    expect(await failureOf(contradiction)).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[TAINT15, TAINT16] beginCall journals what is untrusted, and refuses in a tainted session', async () => {
    const session = await open();
    await session.append({ role: 'user', content: 'go' });
    const { callId, token } = await session.beginCall({ tool: 'web_search', input: {}, effects: 'none' });
    await session.endCall(callId, { token, output: 'a page' });
    expect(await session.taint()).toMatchObject({ sources: [{ tool: 'web_search', callId }] });
    expect(await failureOf(session.beginCall({ tool: 'refund', input: {}, token }))).toMatchObject({
      code: 'CALL_TAINTED',
    });
    await session.beginCall({ tool: 'reserve', input: {}, token, safeWhenTainted: true });
    await session.clearTaint({ reason: 'read it' });
    await session.beginCall({ tool: 'mail', input: {}, token, untrusted: true });
    expect((await eventsOf(session, 'tool.called')).map(({ payload }) => payload.untrusted)).toEqual([
      true,
      undefined,
      true,
    ]);
  });

  test('[TAINT17] a bundle cannot clear its own taint, nor bring an approval for a source', async () => {
    const elsewhere = stage.runtime.as({ workspace: 'abroad', member: 'eve', role: 'admin' });
    await elsewhere.worker().start();
    const source = await elsewhere.sessions.open({ agent: stage.agents.clerk });
    await stage.send(source, visit);
    await stage.send(source, pay);
    const [approval] = await elsewhere.approvals.list();
    const run = (await source.runs({ limit: 1 })).runs[0]!.run;
    await elsewhere.approvals.approve(approval!.id, { forSource: true });
    await (await source.run(run)).waitForEnd();
    await source.clearTaint({ reason: 'trust me', files: true });
    const bundle = await Array.fromAsync(source.export());
    await stage.as('ann').sessions.import(
      (async function* () {
        yield* bundle;
      })(),
    );
    const copy = await stage.as('ann').sessions.get(source.id);
    const { sources, allowed, cleared, tainted: isTainted } = await copy.taint();
    expect([isTainted, sources.map(({ tool }) => tool), allowed, cleared]).toEqual([
      true,
      ['import', 'fetch'],
      {},
      undefined,
    ]);
    expect(await copy.summary()).toMatchObject({ tainted: ['import', 'fetch'] });
    await copy.clearTaint({ reason: 'our own bundle' });
    expect(await copy.taint()).toMatchObject({ tainted: false });
  });

  test('[TAINT20] a call of a bundle that was in flight does not run again by itself', async () => {
    const begun = Promise.withResolvers<void>();
    let deployed = 0;
    const deploy = defineTool({
      name: 'deploy',
      input: z.object({}),
      usesFiles: false,
      execute: (_, { signal }) => {
        deployed += 1;
        begun.resolve();
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      reconcile: () => ({ outcome: 'not-run' }),
    });
    const agent = defineAgent({ name: 'deployer', model: obedientModel(), tools: [deploy] });
    const own = await place.open({ agents: [agent], worker: false });
    onTestFinished(() => own.close());
    const eve = own.as({ workspace: 'deployer', member: 'eve', role: 'admin' });
    const source = await eve.sessions.open({ agent });
    const worker = eve.worker();
    await worker.start();
    await source.send(ask('deploy'));
    await begun.promise;
    const bundle = await Array.fromAsync(source.export());
    await source.cancel();
    await worker.stop();
    const here = own.as({ workspace: 'here', member: 'ann', role: 'admin' });
    await here.sessions.import(
      (async function* () {
        yield* bundle;
      })(),
    );
    const session = await here.sessions.get(source.id);
    await here.worker().start();
    await session.send('Hello', { policy: 'steer' });
    await expect.poll(async () => eventsOf(session, 'tool.failed'), { timeout: 10_000 }).toHaveLength(1);
    const [failed] = await eventsOf(session, 'tool.failed');
    expect(failed!.payload).toMatchObject({ tool: 'deploy', outcome: 'interrupted' });
    expect(failed!.payload.error.message).toContain('a person must approve it');
    expect(deployed).toBe(1);
  });

  test('[TAINT18] a context names a call that was left behind, without an input that outside data may have written', async () => {
    const session = await open();
    await stage.send(session, ask('notify', { text: 'before' }));
    await stage.send(session, visit);
    await stage.send(session, ask('notify', { text: 'after' }));
    await session.rewind({ to: { turn: 0 } });
    const { system } = await session.context();
    expect(system).toContain('notify {"text":"before"}');
    expect(system).toContain('notify (input left out: data from outside was in the context)');
    expect(system).not.toContain('"after"');
    await stage.send(session, 'Hello');
    await session.rewind({ to: { turn: 0 } });
    expect((await session.context()).system).not.toContain('"after"');
    await stage.send(session, ask('recall', { key: 'happened' }));
    expect(await session.taint()).toMatchObject({ sources: [{ tool: 'recall' }] });
  });

  test('[TAINT19] listed descriptions hold the tools of others, and not those that the author passes or vouches for', async () => {
    const described = await open('described');
    await stage.send(described, pay);
    expect(await pending(described)).toMatchObject([{ taintedBy: { sources: [{ tool: 'evil' }] } }]);
    await described.cancel();
    stage.world.refunds.length = 0;
    await stage.send(await open(), pay);
    expect(stage.world.refunds).toEqual(['1']);
  });

  test('[TAINT14] the summary of a fold from the start is that of the listing', async () => {
    const session = await tainted();
    expect(await session.verify()).toMatchObject({ ok: true });
    const { sessions } = await stage.as('ann').sessions.list();
    expect(sessions.find(({ id }) => id === session.id)).toMatchObject({ tainted: ['fetch'] });
    expect(writeTool.reads!({ path: 'a', content: '' } as never)).toEqual([]);
    expect(readTool.reads!({ path: 'a' } as never)).toEqual(['a']);
  });
});
