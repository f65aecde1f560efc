import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Runtime,
  type Session,
  type SessionEvent,
  type Trace,
} from '../../src/index.ts';
import { readTool, rememberTool, writeTool } from '../../src/tools/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const fetchPage = defineTool({
  name: 'fetch_page',
  input: z.object({ url: z.string() }),
  effects: 'none',
  execute: () => 'the port is 8080',
});
const pay = defineTool({ name: 'pay', input: z.object({}), approval: true, execute: () => 'paid' });

const calls = (tool: string, input: object, text = '') => ({ text, calls: [{ tool, input }] });
const steps = [
  calls('fetch_page', { url: 'https://example.org' }, 'I look it up'),
  calls('remember', { key: 'port', value: '8080' }, 'I keep it'),
  calls('write', { path: 'src/a.ts', content: 'listen(8080)' }, 'I write it'),
  { text: 'Done.' },
  calls('read', { path: 'src/a.ts' }, 'I read it'),
  calls('remember', { key: 'reads', value: 'listen' }, 'I keep what I read'),
  calls('pay', {}, 'I pay'),
  { text: 'Paid.' },
];
const coder = defineAgent({
  name: 'coder',
  model: defineScript({ name: 'coder', steps } as Parameters<typeof defineScript>[0]),
  tools: [fetchPage, pay, rememberTool, readTool, writeTool],
});

type Step = readonly [from: string, reason: string, to: string];

/** The edges as the kinds and tools of their nodes, without ids. */
const stepsOf = ({ nodes, edges }: Trace): readonly Step[] => {
  const named = new Map(nodes.map(({ id, kind, tool, text }) => [id, `${kind} ${tool ?? text.slice(0, 12)}`.trim()]));
  return edges.map(({ from, reason, to }) => [named.get(from)!, reason, named.get(to)!]);
};

/** Every edge must name nodes of the trace, and lead from a later event to an earlier one. */
const checkTrace = async (session: Session, trace: Trace) => {
  const nodes = new Map(trace.nodes.map((node) => [node.id, node]));
  const events = new Map(
    (await Array.fromAsync(session.events())).map((event) => [`${event.session}/${event.seq}`, event]),
  );
  for (const { from, to } of trace.edges) {
    const [later, earlier] = [nodes.get(from)!, nodes.get(to)!];
    expect([later, earlier]).not.toContain(undefined);
    for (const { id, kind, session: of, note } of [later, earlier]) {
      if (kind !== 'entry' && kind !== 'session' && of === session.id && !note) expect(events.has(id)).toBe(true);
    }
    if (later.seq !== undefined && later.session === earlier.session) expect(earlier.seq).toBeLessThan(later.seq);
  }
};

describe.each(storeKinds)('trace, on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address, agents: [coder], worker: false });
    await runtime.worker().start();
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  const played = async () => {
    const session = await runtime.sessions.open({ agent: coder });
    await (await session.send('Which port?')).result();
    const run = await session.send('Read it and pay');
    await expect.poll(async () => (await runtime.approvals.list()).length, { timeout: 10_000 }).toBe(1);
    const [open] = await runtime.approvals.list();
    await runtime.approvals.approve(open!.id, { comment: 'fine' });
    expect((await run.result()).status).toBe('succeeded');
    return session;
  };

  test('[TRACE1, TRACE4] a run is walked from a fact to the page and the message, and from a file to its readers', async () => {
    const session = await played();
    const back = await session.trace('/facts/port', { direction: 'back' });
    await checkTrace(session, back);
    expect(back).toMatchObject({ root: 'entry:/facts/port', isComplete: true });
    expect(back.nodes[1]).toMatchObject({ kind: 'entry', provenance: 'unverified', text: '/facts/port "8080"' });
    expect(stepsOf(back)).toEqual([
      ['entry /facts/port', 'set', 'commit remember'],
      ['commit remember', 'derivedFrom', 'result remember'],
      ['result remember', 'said', 'message I keep it [r'],
      ['message I keep it [r', 'reads', 'message I look it up'],
      ['message I keep it [r', 'reads', 'result fetch_page'],
      ['message I look it up', 'reads', 'message Which port?'],
      ['result fetch_page', 'said', 'message I look it up'],
    ]);
    const file = await session.trace('src/a.ts', { direction: 'forward' });
    await checkTrace(session, file);
    expect(stepsOf(file)).toEqual(
      expect.arrayContaining([
        ['entry /filesModifi', 'set', 'file write'],
        ['result read', 'reads', 'file write'],
        ['message I keep what', 'reads', 'result read'],
        ['result remember', 'said', 'message I keep what'],
        ['commit remember', 'derivedFrom', 'result remember'],
        ['result pay', 'said', 'message I pay [pay]'],
      ]),
    );
    expect(await session.trace('files:./src/a.ts', { direction: 'forward' })).toEqual(file);
    const reads = await session.trace('/facts/reads/deeper', { direction: 'back' });
    expect(stepsOf(reads)).toContainEqual(['result read', 'reads', 'file write']);
    expect(stepsOf(reads)).toContainEqual(['result write', 'said', 'message I write it [']);
    const paid = (await Array.fromAsync(session.events())).findLast(({ type }) => type === 'tool.completed')!;
    expect(stepsOf(await session.trace(`seq:${paid.seq}`))).toContainEqual([
      'result pay',
      'approved',
      'approval approved fin',
    ]);
  });

  test('[TRACE2] each direction is the converse of the other', async () => {
    const session = await played();
    const { seq: head } = await session.summary();
    const all = { back: new Set<string>(), forward: new Set<string>() };
    for (const direction of ['back', 'forward'] as const) {
      for (let seq = 1; seq <= head; seq++) {
        const trace = await session.trace(`seq:${seq}`, { direction, limit: 1000, depth: 100 });
        await checkTrace(session, trace);
        for (const { from, reason, to } of trace.edges) all[direction].add(`${from} ${reason} ${to}`);
      }
    }
    // A message that only repeats a result is drawn forward only if something else rests on it.
    const isRepeat = (edge: string) => / cause /.test(edge);
    expect(all.back.size).toBeGreaterThan(20);
    expect([...all.back].filter((edge) => !isRepeat(edge)).sort()).toEqual([...all.forward].sort());
  });

  test('[TRACE3] adoptions, carry-overs, forks and reverts are followed both ways', async () => {
    const session = await runtime.sessions.open();
    const [asked] = await session.append({ role: 'user', content: 'The port is 8080' });
    const set = (to: Session, name: string, derivedFrom?: number[]) =>
      to.commit((draft) => void Object.assign(draft.facts, { [name]: 1 }), { derivedFrom });
    const branch = await session.fork();
    const made = await set(branch, 'port', [asked!.seq]);
    const adopted = (await session.adopt(branch)).commit!;
    const reverted = (await session.revert(adopted.seq))!;
    const again = await set(session, 'port', [adopted.seq]);
    const next = await runtime.sessions.open({ carryFrom: session.id });
    const id = (each: { session: string; seq: number }) => `${each.session}/${each.seq}`;
    const back = await next.trace('/facts/port', { direction: 'back' });
    const [carried] = (await next.commits()).commits;
    expect(back.edges).toEqual(
      expect.arrayContaining([
        { from: id(carried!), to: id(again!), reason: 'carried' },
        { from: id(again!), to: id(adopted), reason: 'derivedFrom' },
        { from: id(adopted), to: id(made!), reason: 'adopted' },
        { from: id(made!), to: id(asked!), reason: 'derivedFrom' },
      ]),
    );
    const forward = await session.trace(`seq:${asked!.seq}`, { direction: 'forward' });
    const edges = new Set(forward.edges.map(({ from, reason, to }) => `${from} ${reason} ${to}`));
    for (const { from, reason, to } of back.edges) {
      if (reason !== 'set') expect(edges).toContain(`${from} ${reason} ${to}`);
    }
    expect(edges).toContain(`${id(reverted)} reverted ${id(adopted)}`);
  });

  test('[TRACE3] a source that the caller does not see is named as hidden, without a word of it', async () => {
    const ann = runtime.as({ workspace: 'sight', member: 'ann', role: 'member' });
    const bob = runtime.as({ workspace: 'sight', member: 'bob', role: 'member' });
    const own = await ann.sessions.open({ visibility: 'private', title: 'secret' });
    await own.commit((draft) => void Object.assign(draft.facts, { port: 'SECRET' }), { why: 'SECRET reason' });
    const shared = await ann.sessions.open({ carryFrom: own.id, visibility: 'workspace' });
    const seen = await (await bob.sessions.get(shared.id)).trace('/facts/port');
    expect(seen.nodes.at(-1)).toEqual({
      id: own.id,
      kind: 'session',
      session: own.id,
      text: 'not visible to you',
      note: 'hidden',
    });
    expect(JSON.stringify(seen)).not.toContain('SECRET reason');
    const forward = await own.trace('/facts/port', { direction: 'forward' });
    expect(stepsOf(forward)).toContainEqual(['commit /facts/port:', 'carried', 'commit /facts/port:']);
  });

  test('[TRACE5] a trace is cut at its depth and at its number of nodes, and says so', async () => {
    const session = await runtime.sessions.open();
    const [asked] = await session.append({ role: 'user', content: 'go' });
    let seq = asked!.seq;
    for (let count = 0; count < 30; count++) {
      seq = (await session.commit((draft) => void Object.assign(draft.facts, { count }), { derivedFrom: [seq] }))!.seq;
    }
    const deep = await session.trace('/facts/count', { depth: 5 });
    expect(deep).toMatchObject({ isComplete: false });
    expect(deep.nodes).toHaveLength(7);
    expect(deep.nodes.at(-1)).toMatchObject({ note: 'more' });
    const few = await session.trace(`seq:${asked!.seq}`, { limit: 3, depth: 100 });
    expect(few).toMatchObject({ isComplete: false });
    expect(few.nodes.length).toBeLessThanOrEqual(2 * 5);
    expect(await session.trace(`seq:${asked!.seq}`, { depth: 100 })).toMatchObject({ isComplete: true });
    for (const options of [{ depth: 0 }, { depth: 101 }, { limit: 1001 }, { direction: 'up' }]) {
      await expect(session.trace('/facts/count', options as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    for (const entry of ['/facts/none', 'files:none.ts', 'seq:9999', '/facts']) {
      await expect(session.trace(entry)).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
    }
  });

  test('[TRACE6] a damaged event ends its branch and is marked', async () => {
    const session = await runtime.sessions.open();
    const [first, second] = await session.append([
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
    ]);
    await session.commit((draft) => void Object.assign(draft.facts, { port: 1 }), {
      derivedFrom: [first!.seq, second!.seq],
    });
    await place.edit(
      (events) => `update ${events} set payload = cast('{"x":1}' as ${kind === 'sqlite' ? 'blob' : 'bytea'})
        where session = '${session.id}' and seq = ${first!.seq}`,
    );
    const { nodes, edges } = await session.trace('/facts/port', { direction: 'back' });
    expect(nodes.find(({ seq }) => seq === first!.seq)).toMatchObject({ note: 'damaged', text: 'cannot be read' });
    expect(nodes.find(({ seq }) => seq === second!.seq)).toMatchObject({ text: 'two' });
    expect(edges.filter(({ reason }) => reason === 'derivedFrom')).toHaveLength(2);
  });

  test('[TRACE1] a conclusion of the model rests on the inputs of its turn, and a summary on its messages', async () => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'one' });
    await session.append({ role: 'assistant', content: 'two' });
    await session.append({ role: 'user', content: 'three' });
    await session.commit((draft) => void Object.assign(draft.facts, { port: 1 }), { by: 'model' });
    expect(stepsOf(await session.trace('/facts/port'))).toEqual([
      ['entry /facts/port', 'set', 'commit /facts/port'],
      ['commit /facts/port', 'reads', 'message three'],
    ]);
    await session.append({ role: 'assistant', content: 'four' });
    await session.compact({ keepTurns: 1, summarize: async () => 'short' });
    const compacted = (await Array.fromAsync(session.events())).findLast(
      (event): event is SessionEvent<'context.compacted'> => event.type === 'context.compacted',
    )!;
    const trace = await session.trace(`seq:${compacted.seq}`);
    expect(stepsOf(trace)).toContainEqual(['compaction short', 'compacted', 'message two']);
    const one = trace.nodes.find(({ text }) => text === 'one')!;
    expect(stepsOf(await session.trace(`seq:${one.seq}`, { direction: 'forward' }))).toContainEqual([
      'compaction short',
      'compacted',
      'message one',
    ]);
  });
});
