import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Runtime,
  type Session,
  type ToolDefinition,
} from '../../src/index.ts';
import { subagent } from '../../src/tools/index.ts';
import { type ScriptedCall, scriptedModel } from '../support/runs/scripted-model.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const Order = z.object({ order: z.string() });
type About = Partial<ToolDefinition<typeof Order, string>>;

describe.each(storeKinds)('what already happened, on %s', (kind) => {
  let place: StorePlace;
  let runtimes: Runtime[];
  /** Each agent has a name of its own, so that no worker of another one takes its runs. */
  let agents = 0;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());
  beforeEach(() => {
    runtimes = [];
  });
  afterEach(() => Promise.all(runtimes.map((runtime) => runtime.close())));

  /** A session whose agent refunds. Each turn's calls are given; every run of the tool is counted. */
  const start = async (about: About, ...steps: readonly (readonly ScriptedCall[])[]) => {
    const refunds: string[] = [];
    const refund = defineTool({
      name: 'refund',
      input: Order,
      effects: 'once',
      usesFiles: false,
      execute: ({ order }) => {
        refunds.push(order);
        return `refunded ${order}`;
      },
      ...about,
    });
    const look = defineTool({ name: 'look', input: Order, effects: 'none', usesFiles: false, execute: () => 'seen' });
    const model = scriptedModel(...steps);
    const agent = defineAgent({ name: `desk${++agents}`, model, instructions: 'Be kind.', tools: [refund, look] });
    const runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
    runtimes.push(runtime);
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent });
    const ask = async (text: string, of: Session = session) => (await of.send(text)).result();
    const systemTexts = () =>
      model.doStreamCalls.map(({ prompt }) => JSON.stringify(prompt.filter(({ role }) => role === 'system')));
    return { runtime, session, refunds, ask, systemTexts };
  };
  const refundOf = (order: string, id = `call_${order}`) => [{ id, tool: 'refund', input: { order } }];
  const typesOf = async (session: Session) => (await Array.fromAsync(session.events())).map(({ type }) => type);
  const approvalOf = async (runtime: Runtime, session: Session) =>
    (await runtime.approvals.list()).find((each) => each.session === session.id)!;
  const refunded = { tool: 'refund', input: '{"order":"A"}', outcome: 'ok', effects: 'once' };

  test('[HAP11, HAP2] a retry over a call that took effect needs again; the call is recorded, returned and told to the model', async () => {
    const { session, refunds, ask, systemTexts } = await start({}, refundOf('A'), []);
    await ask('refund A');
    const before = await session.summary();
    await expect(session.retry({ turn: 1 })).rejects.toMatchObject({
      code: 'EFFECTS_HAPPENED',
      message: expect.stringMatching(/refund \{"order":"A"\} \(ok\).*`--again`/),
      details: { turn: 1, calls: [refunded] },
    });
    expect(await session.summary()).toEqual(before);
    const preview = await session.happened({ after: { turn: 0 } });
    expect(preview).toMatchObject({ calls: [{ ...refunded, session: session.id }], more: 0 });
    const { run, happened } = await session.retry({ turn: 1, again: true });
    expect(happened).toEqual(preview);
    expect(await session.happened()).toEqual(preview);
    expect(await run!.result()).toMatchObject({ status: 'succeeded' });
    expect(refunds).toEqual(['A']);
    expect(systemTexts()[0]).not.toContain('What already happened');
    expect(systemTexts().at(-1)).toContain('What already happened');
    expect(systemTexts().at(-1)).toMatch(/refund .*order.*A.* → ok \(call_A in ses_/);
    const recorded = (await Array.fromAsync(session.events())).find((event) => event.type === 'calls.happened');
    expect(recorded!.payload).toEqual({ verb: 'retry', ...preview });
  });

  test('[HAP8, HAP9, HAP7] by default a repeat waits for an approval that shows the earlier call, and runs once approved', async () => {
    const again = refundOf('A', 'call_again');
    const { runtime, session, refunds, ask } = await start({}, refundOf('A'), [], again, []);
    await ask('refund A');
    const { happened, run } = await session.retry({ turn: 1, again: true });
    const [earlier] = happened.calls;
    expect(await run!.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(refunds).toEqual(['A']);
    const approval = await approvalOf(runtime, session);
    expect(approval).toMatchObject({
      tool: 'refund',
      repeats: { session: session.id, seq: earlier!.seq, callId: 'call_A', outcome: 'ok', at: earlier!.at },
      summary: expect.stringMatching(
        /^Repeat: the same call was made at \d.* in ses_.* \(call_A\) and succeeded\. refund \{"order":"A"\}$/,
      ),
    });
    await session.approve(approval.id);
    expect(await run!.waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(refunds).toEqual(['A', 'A']);
  });

  test('[HAP8] a denied repeat does not run, and the model is told', async () => {
    const { runtime, session, refunds, ask } = await start({}, refundOf('A'), [], refundOf('A', 'again'), []);
    await ask('refund A');
    const { run } = await session.retry({ turn: 1, again: true });
    await run!.result();
    await session.deny((await approvalOf(runtime, session)).id, { comment: 'once is enough' });
    await run!.waitForEnd();
    expect(refunds).toEqual(['A']);
    expect(JSON.stringify((await session.transcript()).entries)).toContain('once is enough');
  });

  test('[HAP8] with `deny` a repeat is refused with a result that names the earlier call, and with `allow` it runs', async () => {
    for (const repeat of ['deny', 'allow'] as const) {
      const { session, refunds, ask } = await start({ repeat }, refundOf('A'), [], refundOf('A', 'again'), []);
      await ask('refund A');
      const { run } = await session.retry({ turn: 1, again: true });
      expect(await run!.waitForEnd()).toMatchObject({ status: 'succeeded' });
      expect(refunds).toEqual(repeat === 'deny' ? ['A'] : ['A', 'A']);
      const told = JSON.stringify((await session.transcript()).entries);
      expect(told.includes('refund must not run twice with the same input')).toBe(repeat === 'deny');
    }
  });

  test('[HAP7] calls of the own live lineage are no repeats, also in a fork that inherits them; another input is none', async () => {
    const steps = [
      refundOf('A'),
      [],
      refundOf('A', 'second'),
      [],
      refundOf('A', 'third'),
      [],
      refundOf('B', 'other'),
      [],
    ];
    const { session, refunds, ask } = await start({}, ...steps);
    await ask('refund A');
    await ask('and again');
    const branch = await session.fork();
    await ask('and again', branch);
    expect(refunds).toEqual(['A', 'A', 'A']);
    const early = await session.fork({ at: { turn: 0 } });
    expect(await ask('refund B', early)).toMatchObject({ status: 'succeeded' });
    expect(refunds).toEqual(['A', 'A', 'A', 'B']);
  });

  test('[HAP2, HAP6, HAP7] a fork from an earlier point records what happened beyond it, and repeats of the parent are held back', async () => {
    const { session, ask, refunds, systemTexts } = await start({}, refundOf('A'), [], refundOf('A', 'again'), []);
    await ask('refund A');
    expect(await (await session.fork()).happened()).toEqual({ calls: [], more: 0 });
    const branch = await session.fork({ at: { turn: 0 } });
    expect(await branch.happened()).toMatchObject({ calls: [{ ...refunded, session: session.id }], more: 0 });
    expect((await branch.context()).system).toContain('What already happened');
    expect(await ask('refund A', branch)).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(refunds).toEqual(['A']);
    expect(systemTexts().at(-1)).toContain('call_A');
    const grandchild = await branch.fork();
    expect(await grandchild.happened()).toMatchObject({ calls: [{ ...refunded, session: session.id }] });
  });

  test('[HAP7] a repeat of a sibling is held back, although no list of the session names it', async () => {
    const { runtime, session, ask, refunds } = await start({}, [], refundOf('A'), [], refundOf('A', 'again'), []);
    await ask('hello');
    const [one, two] = [await session.fork(), await session.fork()];
    await ask('refund A', one);
    expect(await two.happened()).toEqual({ calls: [], more: 0 });
    expect(await ask('refund A', two)).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(refunds).toEqual(['A']);
    expect((await approvalOf(runtime, two)).repeats).toMatchObject({ session: one.id });
  });

  test('[HAP2, HAP6] a rewind returns and records what happened; the preview writes nothing', async () => {
    const { session, ask } = await start({}, [], refundOf('A'), []);
    await ask('hello');
    await ask('refund A');
    const before = await typesOf(session);
    const preview = await session.happened({ after: { turn: 1 } });
    expect(preview.calls).toMatchObject([refunded]);
    expect(await typesOf(session)).toEqual(before);
    expect((await session.rewind({ to: { turn: 1 } })).happened).toEqual(preview);
    expect((await typesOf(session)).slice(before.length)).toEqual(['session.rewound', 'calls.happened']);
    expect((await session.context()).system).toContain('What already happened');
  });

  test('[HAP2, HAP3] the list has every call that ran with effects, and no call that did not run or has none', async () => {
    const model = [
      [...refundOf('A'), { id: 'l', tool: 'look', input: { order: 'A' } }],
      [
        { id: 'bad', tool: 'refund', input: { order: 7 } },
        { id: 'none', tool: 'nothing', input: {} },
      ],
      [],
    ] as const;
    const { session, ask } = await start({}, ...model);
    await ask('refund A');
    const { happened } = await session.rewind({ to: { turn: 0 } });
    expect(happened.calls.map(({ callId }) => callId)).toEqual(['call_A']);
  });

  test('[HAP4] a further rewind, a fork and a compaction keep the list, and a call that is live again leaves it', async () => {
    const { session, ask } = await start({}, [], refundOf('A'), [], refundOf('B'), [], [], []);
    await ask('hello');
    await ask('refund A');
    const head = (await session.summary()).seq;
    await session.rewind({ to: { turn: 1 } });
    await ask('refund B');
    const { happened } = await session.rewind({ to: { turn: 1 } });
    expect(happened.calls.map(({ callId }) => callId)).toEqual(['call_B']);
    const ids = async (of: Session) => (await of.happened()).calls.map(({ callId }) => callId);
    expect(await ids(session)).toEqual(['call_A', 'call_B']);
    expect(await ids(await session.fork())).toEqual(['call_A', 'call_B']);
    await ask('one more');
    await session.compact({ keepTurns: 1 });
    await ask('and one');
    const { system } = await session.context();
    expect(system).toContain('call_A in');
    expect(system).toContain('call_B in');
    await session.rewind({ to: { seq: head } });
    expect(await ids(session)).toEqual(['call_B']);
    expect(await ids(await session.fork({ at: { turn: 1 } }))).toEqual(['call_A', 'call_B']);
  });

  test('[HAP2] an adoption records the calls of the branch, even if it changes nothing else', async () => {
    const { session, ask } = await start({}, [], refundOf('A'), [], []);
    await ask('hello');
    const branch = await session.fork();
    await ask('refund A', branch);
    const before = await typesOf(session);
    const { commit, happened } = await session.adopt(branch);
    expect(commit).toBeUndefined();
    expect((await typesOf(session)).slice(before.length)).toEqual(['calls.happened']);
    expect(happened.calls).toMatchObject([{ ...refunded, session: branch.id }]);
    expect(await session.happened()).toEqual(happened);
    const seq = (await session.summary()).seq;
    expect((await session.adopt(branch)).happened).toEqual({ calls: [], more: 0 });
    expect((await session.summary()).seq).toBe(seq);
    await branch.commit((draft) => Object.assign(draft.facts, { port: 80 }));
    expect((await session.adopt(branch)).commit).toBeDefined();
    const quiet = await session.fork({ at: { turn: 1 } });
    const other = await session.fork({ at: { turn: 1 } });
    expect(await quiet.happened()).toMatchObject({ calls: [{ callId: 'call_A' }] });
    expect((await other.adopt(quiet)).happened.calls).toEqual([]);
  });

  test('[HAP2] adopting a branch into the session that made a call does not list that live call', async () => {
    const { session, ask } = await start({}, [], refundOf('A'), [], [], []);
    await ask('hello');
    await ask('refund A');
    const branch = await session.fork({ at: { turn: 1 } });
    await branch.commit((draft) => Object.assign(draft.facts, { port: 80 }));
    expect((await branch.happened()).calls).toHaveLength(1);
    expect((await session.adopt(branch)).happened).toEqual({ calls: [], more: 0 });
    expect(await session.happened()).toEqual({ calls: [], more: 0 });
  });

  test('[HAP2, HAP7] a call that was running at the point has its real outcome in the list, and its repeat is held back', async () => {
    const { session, ask, refunds } = await start({}, refundOf('A'), [], refundOf('A', 'again'), []);
    await ask('refund A');
    const called = (await Array.fromAsync(session.events())).find(({ type }) => type === 'tool.called')!;
    const branch = await session.fork({ at: { seq: called.seq } });
    expect(await branch.happened()).toMatchObject({ calls: [{ ...refunded, seq: called.seq }] });
    await branch.resume();
    expect(await ask('go on', branch)).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(refunds).toEqual(['A']);
  });

  test('[HAP7, HAP2] a call whose outcome is unknown is held back, and one that threw is not', async () => {
    for (const fails of ['threw', 'timeout'] as const) {
      let runs = 0;
      const execute = async () => {
        runs += 1;
        if (fails === 'threw') throw new Error('no');
        return new Promise<string>(() => undefined);
      };
      const steps = [refundOf('A'), [], refundOf('A', 'again'), []];
      const { session, ask } = await start({ execute, timeoutMs: 50 }, ...steps);
      await ask('refund A');
      if (fails === 'timeout') await expect(session.retry({ turn: 1 })).rejects.toThrow('(timeout)');
      const { run, happened } = await session.retry({ turn: 1, ...(fails === 'timeout' && { again: true }) });
      expect(happened.calls).toMatchObject([{ outcome: fails }]);
      expect((await run!.result()).status).toBe(fails === 'threw' ? 'succeeded' : 'waiting');
      expect(runs).toBe(fails === 'threw' ? 2 : 1);
    }
  });

  test('[HAP1] a confined call is undone by going back: it is neither recorded nor held back', async () => {
    const { session, ask, refunds } = await start({ confined: true }, refundOf('A'), [], refundOf('A', 'again'), []);
    await ask('write A');
    const { run, happened } = await session.retry({ turn: 1 });
    expect(happened).toEqual({ calls: [], more: 0 });
    expect(await run!.result()).toMatchObject({ status: 'succeeded' });
    expect(refunds).toEqual(['A', 'A']);
  });

  test('[HAP9] an approval that was requested before the call became a repeat is not enough', async () => {
    const steps = [[], refundOf('A'), refundOf('A', 'again'), [], []];
    const { runtime, session, ask, refunds } = await start({ approval: true }, ...steps);
    await ask('hello');
    const [one, two] = [await session.fork(), await session.fork()];
    expect(await ask('refund A', one)).toMatchObject({ status: 'waiting' });
    const first = await approvalOf(runtime, one);
    expect(first.repeats).toBeUndefined();
    // The other branch makes the same call meanwhile.
    const run = await two.send('refund A');
    expect(await run.result()).toMatchObject({ status: 'waiting' });
    await two.approve((await approvalOf(runtime, two)).id);
    await run.waitForEnd();
    expect(refunds).toEqual(['A']);
    await one.approve(first.id);
    await expect.poll(async () => (await approvalOf(runtime, one))?.repeats).toMatchObject({ session: two.id });
    expect(refunds).toEqual(['A']);
  });

  test('[HAP12] a tracked `once` tool that would repeat a call is refused before it runs, unless repeat allows it', async () => {
    const runtime = await openRuntime({ store: place.address });
    runtimes.push(runtime);
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'refund A' });
    const refunds: string[] = [];
    const tools = {
      refund: async ({ order }: { order: string }) => {
        refunds.push(order);
        return 'done';
      },
    };
    const about = { refund: { effects: 'once' as const } };
    await (await session.track(tools, about)).refund({ order: 'A' });
    await (await session.track(tools, about)).refund({ order: 'A' });
    await expect(session.retry({ turn: 1 })).rejects.toMatchObject({ code: 'EFFECTS_HAPPENED' });
    const { happened } = await session.retry({ turn: 1, again: true });
    expect(happened.calls).toMatchObject([refunded, refunded]);
    expect((await session.context()).system).toContain('What already happened');
    const typesBefore = await typesOf(session);
    for (const repeat of [undefined, 'ask', 'deny'] as const) {
      await expect(
        (await session.track(tools, { refund: { effects: 'once', repeat } as never })).refund({ order: 'A' }),
      ).rejects.toMatchObject({
        code: 'CALL_REPEATED',
        details: { earlier: { session: session.id, outcome: 'ok' } },
      });
    }
    const undeclared = await session.track(tools);
    await expect(undeclared.refund({ order: 'A' })).rejects.toMatchObject({ code: 'CALL_REPEATED' });
    expect(await typesOf(session)).toEqual([...typesBefore, 'session.tracked']);
    expect(refunds).toEqual(['A', 'A']);
    await (await session.track(tools, { refund: { effects: 'once', repeat: 'allow' } })).refund({ order: 'A' });
    await (await session.track(tools, about)).refund({ order: 'B' });
    expect(refunds).toEqual(['A', 'A', 'A', 'B']);
  });

  test('[HAP3] a list keeps its newest 200 calls, clips their inputs and says how many it leaves out', async () => {
    const runtime = await openRuntime({ store: place.address });
    runtimes.push(runtime);
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'go' });
    const { pay } = await session.track(
      { pay: async (_: { n: number; note: string }) => 'paid' },
      { pay: { effects: 'once' } },
    );
    for (let n = 0; n < 203; n++) await pay({ n, note: n === 202 ? 'x'.repeat(2000) : '' });
    const { happened } = await session.rewind({ to: { turn: 0 } });
    expect(happened.more).toBe(3);
    expect(happened.calls).toHaveLength(200);
    expect(happened.calls[0]!.input).toBe('{"n":3,"note":""}');
    expect(happened.calls.at(-1)!.input).toMatch(/^\{"n":202,"note":"x+…$/);
    expect(happened.calls.at(-1)!.input).toHaveLength(501);
    const small = await session.context({ maxTokens: 2000 });
    expect(small.system).toContain('203 calls with effects');
    expect(small.system).toMatch(/\(\d+ more: recall happened\)/);
    expect(await session.recall('happened')).toEqual(await session.happened());
  });

  test('[HAP5] an adoption during a turn is told from the next turn on, and a rewind within a turn at once', async () => {
    const runtime = await openRuntime({ store: place.address });
    runtimes.push(runtime);
    const session = await runtime.sessions.open();
    const pay = async (of: Session) =>
      (await of.track({ pay: async () => 'paid' }, { pay: { effects: 'once' } })).pay();
    await session.append({ role: 'user', content: 'one' });
    const branch = await session.fork();
    await branch.resume();
    await branch.append({ role: 'user', content: 'two' });
    await pay(branch);
    const { system } = await session.context();
    expect((await session.adopt(branch)).happened.calls).toHaveLength(1);
    expect((await session.context()).system).toBe(system);
    await session.append({ role: 'user', content: 'two' });
    expect((await session.context()).system).toContain('What already happened');
    const { seq } = await branch.summary();
    await pay(branch);
    await branch.rewind({ to: { seq } });
    expect((await branch.summary()).turn).toBe((await branch.summary()).lastTurn);
    expect((await branch.context()).system).toContain('A call with effects was made');
  });

  test('[HAP10] two branches that call at the same moment may both run, and the next one is a repeat', async () => {
    const bothPlanned = Promise.withResolvers<void>();
    let planned = 0;
    const approval = async () => {
      if (++planned === 2) bothPlanned.resolve();
      await bothPlanned.promise;
      return false;
    };
    const steps = [[], refundOf('A'), refundOf('A', 'other'), [], [], refundOf('A', 'third'), []];
    const { session, ask, refunds } = await start({ approval }, ...steps);
    await ask('hello');
    const branches = [await session.fork(), await session.fork()];
    const ends = await Promise.all(branches.map((branch) => ask('refund A', branch)));
    expect(ends).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
    expect(refunds).toEqual(['A', 'A']);
    expect(await ask('refund A', await session.fork())).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(refunds).toEqual(['A', 'A']);
  });

  test('[HAP13, HAP2] a call of a subagent is recorded in the session it worked for, and its repeat by another subagent is held back', async () => {
    const refunds: string[] = [];
    const refund = defineTool({
      name: 'refund',
      input: Order,
      usesFiles: false,
      execute: ({ order }) => {
        refunds.push(order);
        return 'refunded';
      },
    });
    const calls = {
      steps: [{ calls: [{ tool: 'refund', input: { order: 'A' } }] }, { text: 'Done.' }],
      everyTurn: true,
    };
    const helper = defineAgent({
      name: `helper${++agents}`,
      model: defineScript({ name: 'h', ...calls }),
      tools: [refund],
    });
    const steps = [{ calls: [{ tool: 'help', input: { task: 'Refund A' } }] }, { text: 'Thanks.' }];
    const boss = defineAgent({
      name: `boss${agents}`,
      model: defineScript({ name: 'b', steps, everyTurn: true }),
      tools: [subagent(helper, { name: 'help' })],
    });
    const runtime = await openRuntime({ store: place.address, agents: [boss, helper], worker: false });
    runtimes.push(runtime);
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent: boss });
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'succeeded' });
    const { happened, run } = await session.retry({ turn: 1, again: true });
    expect(happened.calls).toMatchObject([{ tool: 'help', effects: 'idempotent' }, refunded]);
    expect(happened.calls[1]!.session).not.toBe(session.id);
    expect(await run!.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(refunds).toEqual(['A']);
  });

  test('[HAP14] where the log does not record effects, the agents that the runtime holds tell them, and unknown tools count as once', async () => {
    const { session } = await start({ effects: 'idempotent' });
    await session.append({ role: 'user', content: 'go' });
    // A tracked tool without declaration leaves no effects in the log, as release 0.1.0 did.
    const tools = await session.track({ look: async () => 1, refund: async () => 2, unknown: async () => 3 });
    for (const call of Object.values(tools)) await call();
    const { happened } = await session.rewind({ to: { turn: 0 } });
    expect(happened.calls.map(({ tool, effects }) => [tool, effects])).toEqual([
      ['refund', 'idempotent'],
      ['unknown', 'once'],
    ]);
  });

  test('[HAP15] a replay is not asked about its recorded calls, and none of them makes a later call a repeat', async () => {
    const { session, ask, refunds } = await start({}, refundOf('A'), [], refundOf('A', 'second'), []);
    await ask('refund A');
    expect(await session.replay({ turn: 1 })).toMatchObject({ departures: [] });
    expect(await ask('and again')).toMatchObject({ status: 'succeeded' });
    expect(refunds).toEqual(['A', 'A']);
  });

  test('[HAP4, HAP7] an imported session keeps its list, and a repeat is held back where its parent is missing too', async () => {
    const { runtime, session, ask, refunds } = await start({}, refundOf('A'), [], refundOf('A', 'again'), []);
    await ask('refund A');
    await session.rewind({ to: { turn: 0 } });
    const elsewhere = runtime.as({ workspace: `there${agents}`, member: 'ann', role: 'admin' });
    await runtime.workspaces.add(`there${agents}`);
    await elsewhere.sessions.import(session.export());
    const copy = await elsewhere.sessions.get(session.id);
    const { calls, more } = await session.happened();
    expect(await copy.happened()).toEqual({ calls: calls.map((call) => ({ ...call, tainted: true })), more });
    expect(await ask('refund A', copy)).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(refunds).toEqual(['A']);
  });
});
