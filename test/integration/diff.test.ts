import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelAnswer } from '../../src/core/ports/model.ts';
import { defineAgent, defineTool, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { builtInTools } from '../../src/tools/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
const answer = (content: string) => ({ role: 'assistant', content }) as const;

/** A step of a model: what it says, and the calls it asks for. */
interface Step {
  readonly text: string;
  readonly calls?: readonly (readonly [tool: string, input: Record<string, string | number>])[];
}

/** A model that gives these answers in order. */
const modelOf = (name: string, steps: Step[]): Model => {
  let asked = 0;
  return {
    name,
    contextTokens: 100_000,
    price: { input: 1, output: 1 },
    answer: async (): Promise<ModelAnswer> => {
      const { text, calls = [] } = steps.shift() ?? { text: 'nothing to add' };
      asked += 1;
      return {
        parts: [
          { type: 'text', text },
          ...calls.map(([tool, input], place) => ({
            type: 'tool-call' as const,
            callId: `call_${asked}_${place}`,
            tool,
            input,
          })),
        ],
        finish: calls.length > 0 ? 'tool-calls' : 'stop',
        usage: { inputTokens: 1000 * asked, outputTokens: 10, usd: 0.001 * asked },
      };
    },
  };
};

const write = (path: string, content: string) => ['write', { path, content }] as const;
const look = (what: string) => ['look', { what }] as const;

describe.each(storeKinds)('a diff on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  let seen: string[] = [];
  const data = mkdtempSync(join(tmpdir(), 'perdure-diff-'));
  const steps: Step[] = [];
  const lookTool = defineTool({
    name: 'look',
    input: z.object({ what: z.string() }),
    effects: 'none',
    execute: () => seen.shift() ?? 'nothing',
  });
  const agent = defineAgent({
    name: 'coder',
    model: modelOf('test/one', steps),
    tools: [...builtInTools.filter(({ name }) => name === 'write'), lookTool],
  });
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address, data, agents: [agent] });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
    rmSync(data, { recursive: true, force: true });
  });
  const play = async (session: Session, input: string, ...played: readonly Step[]): Promise<void> => {
    steps.push(...played);
    expect(await (await session.send(input)).waitForEnd()).toMatchObject({ status: 'succeeded' });
  };

  test('[DIFF4, DIFF5, DIFF7, DIFF8, DIFF9] two attempts that decided without saying so give a diff that quotes why', async () => {
    const session = await runtime.sessions.open({ agent });
    seen = ['a Map', 'a Map'];
    await play(
      session,
      'The counts must survive a restart.',
      { text: 'I look at the counts first.', calls: [look('counts')] },
      { text: 'I keep the Map, because nothing else is to run.', calls: [write('counts.js', 'new Map()\n')] },
      { text: 'The counts are in a Map now.' },
    );
    steps.push(
      { text: 'I look at the counts first.', calls: [look('counts')] },
      { text: 'I take SQLite, because a restart must not forget.', calls: [write('counts.js', 'sqlite\n')] },
      { text: 'The counts are in SQLite now.' },
    );
    const { run } = await session.retry({ turn: 1, again: true });
    expect(await run!.waitForEnd()).toMatchObject({ status: 'succeeded' });

    const diff = await session.diff({ turn: 1, attempt: 1 }, { turn: 1, attempt: 2 }, { content: true });
    expect(diff.same).toBe(false);
    expect(diff.headline.split('\n')[0]).toMatch(
      /^counts\.js modified \("I take SQLite, because a restart must not forget\."\); answer: "The counts are in a Map now\." → "The counts are in SQLite now\."/,
    );
    expect(diff.answer?.words).toEqual([
      { text: 'The counts are in ', change: 'same' },
      { text: 'a Map', change: 'removed' },
      { text: 'SQLite', change: 'added' },
      { text: ' now.', change: 'same' },
    ]);
    expect(diff.calls).toMatchObject([
      { match: 'same', before: { tool: 'look', outcome: 'ok' }, after: { tool: 'look', outcome: 'ok' } },
      {
        match: 'changed',
        before: { tool: 'write', said: { text: 'I keep the Map, because nothing else is to run.' } },
        after: { tool: 'write', said: { text: 'I take SQLite, because a restart must not forget.' } },
      },
    ]);
    expect(diff.files).toMatchObject([
      {
        path: 'counts.js',
        change: 'modified',
        before: { said: { text: 'I keep the Map, because nothing else is to run.' } },
        after: { said: { text: 'I take SQLite, because a restart must not forget.' } },
        unified: expect.stringMatching(/-new Map\(\)\n\+sqlite\n/),
      },
    ]);
    expect(diff.messages.map(({ match, before, after }) => [match, before?.text, after?.text])).toEqual([
      [
        'changed',
        'I keep the Map, because nothing else is to run.',
        'I take SQLite, because a restart must not forget.',
      ],
      ['changed', 'The counts are in a Map now.', 'The counts are in SQLite now.'],
    ]);
    expect(diff.counts).toMatchObject({ messages: 2, calls: { same: 1, changed: 1 }, files: 1 });
    expect(diff.outcome).toEqual({ before: { status: 'succeeded' }, after: { status: 'succeeded' } });
  });

  test('[DIFF12] a diff shows which models were asked, with which settings, and what they used', async () => {
    const left = defineAgent({
      name: 'left',
      model: modelOf('test/left', [{ text: 'Left.' }]),
      settings: { temperature: 0 },
    });
    const right = defineAgent({
      name: 'right',
      model: modelOf('test/right', [{ text: 'Right.' }]),
      settings: { temperature: 1 },
    });
    const there = await openRuntime({ store: place.address, data, agents: [left, right] });
    const [base, other] = [await there.sessions.open({ agent: left }), await there.sessions.open({ agent: right })];
    for (const session of [base, other]) await (await session.send('Which way?')).waitForEnd();
    const diff = await base.diff({ session: base.id }, { session: other.id });
    expect(diff.models).toMatchObject({
      before: [{ model: 'test/left', requests: 1 }],
      after: [{ model: 'test/right', requests: 1 }],
      settings: [{ name: 'temperature', before: 0, after: 1 }],
    });
    expect(diff.usage).toMatchObject({
      before: { requests: 1, inputTokens: 1000, tokens: 1010, costUsd: 0.001 },
      difference: { requests: 0, tokens: 0, costUsd: 0 },
    });
    expect(diff.headline).toContain('answer: "Left." → "Right."');
    expect(diff.headline).toContain('model test/left → test/right');
    expect(diff.headline).toContain('temperature 0 → 1');
    expect(diff.messages).toMatchObject([{ match: 'changed', before: { text: 'Left.' }, after: { text: 'Right.' } }]);
    await there.close();
  });

  test('[DIFF4, DIFF7] what came to be between two turns is compared from the earlier one on', async () => {
    const session = await runtime.sessions.open();
    await session.append([user('one'), answer('1')]);
    await session.append([user('two'), answer('2')]);
    const { seq } = await session.summary();
    const forward = await session.diff({ turn: 1 }, { turn: 2 });
    expect(forward).toMatchObject({
      same: false,
      common: 3,
      messages: [{ match: 'only-after' }, { match: 'only-after' }],
    });
    expect(forward.headline).toBe('answer: "2"');
    const back = await session.diff({ turn: 2 }, { turn: 1 });
    expect(back.messages.map(({ match, before }) => [match, before?.text])).toEqual([
      ['only-before', 'two'],
      ['only-before', '2'],
    ]);
    expect(back.headline).toBe('answer dropped: "2"');
    const same = await session.diff({ turn: 2 }, { seq });
    expect(same).toMatchObject({
      same: true,
      headline: 'no difference',
      messages: [],
      calls: [],
      committed: [],
      files: [],
    });
  });

  test('[DIFF4] forks, forks of forks and unrelated sessions are compared from the newest event that both share', async () => {
    const session = await runtime.sessions.open();
    await session.append([user('one'), answer('1')]);
    await session.append([user('two'), answer('2')]);
    const [left, right] = [await session.fork({ at: { turn: 1 } }), await session.fork({ at: { turn: 2 } })];
    const deep = await right.fork();
    await left.append([user('two'), answer('zwei')]);
    await deep.append([user('three'), answer('3')]);
    const between = async (a: Session, b: Session) => {
      const { common, messages } = await session.diff({ session: a.id }, { session: b.id });
      return [common, ...messages.map(({ before, after }) => [before?.text, after?.text])];
    };
    expect(await between(left, deep)).toEqual([3, ['zwei', '2'], [undefined, 'three'], [undefined, '3']]);
    expect(await between(right, deep)).toMatchObject([expect.any(Number), [undefined, 'three'], [undefined, '3']]);
    expect(await between(session, right)).toEqual([5]);
    const other = await runtime.sessions.open();
    await other.append([user('one'), answer('eins')]);
    expect(await between(left, other)).toEqual([0, ['1', 'eins'], ['two', undefined], ['zwei', undefined]]);
  });

  test('[DIFF6] calls are aligned by tool and input across turns, with their outcomes', async () => {
    const session = await runtime.sessions.open();
    await session.append(user('go'));
    const fork = await session.fork();
    await fork.resume();
    const call = (callId: string, tool: string, input: number, outcome: 'ok' | 'threw', output: string) =>
      [
        {
          role: 'assistant',
          content: [
            { type: 'text', text: `${tool} it` },
            { type: 'tool-call', callId, tool, input },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-result', callId, tool, outcome, output }] },
      ] as const;
    await session.append([
      ...call('a1', 'test', 1, 'threw', 'no'),
      ...call('a2', 'edit', 1, 'ok', 'done'),
      ...call('a3', 'test', 1, 'ok', 'yes'),
      answer('good'),
    ]);
    await fork.append([
      ...call('b1', 'edit', 2, 'ok', 'done'),
      ...call('b2', 'test', 1, 'threw', 'again'),
      ...call('b3', 'mail', 1, 'ok', 'sent'),
      answer('good'),
    ]);
    const { calls, answer: answers, same } = await session.diff({ session: session.id }, { session: fork.id });
    expect(calls.map(({ match, before, after }) => [match, before?.callId, after?.callId, after?.said?.text])).toEqual([
      ['only-before', 'a1', undefined, undefined],
      ['changed', 'a2', 'b1', 'edit it'],
      ['changed', 'a3', 'b2', 'test it'],
      ['only-after', undefined, 'b3', 'mail it'],
    ]);
    expect({ answers, same }).toEqual({ answers: undefined, same: false });
  });

  test('[DIFF10] pages have all items once, of the events that the first page compared', async () => {
    const session = await runtime.sessions.open();
    for (let turn = 1; turn <= 5; turn++) {
      await session.append([user(`ask ${turn}`), answer(`reply ${turn}`)]);
      await session.commit((draft) => Object.assign(draft.facts, { turn }));
    }
    const whole = await session.diff({ turn: 0 }, { session: session.id });
    const found = { messages: [] as unknown[], committed: [] as unknown[] };
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const page = await session.diff({ turn: 0 }, { session: session.id }, { limit: 3, cursor });
      expect(page.messages.length).toBeLessThanOrEqual(3);
      expect(page).toMatchObject({ counts: whole.counts, to: whole.to, headline: whole.headline });
      found.messages.push(...page.messages);
      found.committed.push(...page.committed);
      await session.append([user('later')]);
      cursor = page.cursor;
    }
    expect(found).toEqual({ messages: whole.messages, committed: whole.committed });
    expect(await failureOf(() => session.diff({ turn: 0 }, { turn: 1 }, { cursor: 'x' }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  test('[DIFF10] text diffs of files need the area files, and their names do not', async () => {
    const session = await runtime.sessions.open();
    await session.files.write('a.txt', 'one\n');
    const key = runtime.as({ workspace: 'local', member: 'ann', role: 'admin', areas: ['sessions'] });
    const seen = await key.sessions.get(session.id);
    const places = [{ seq: 1 }, { session: session.id }] as const;
    expect((await seen.diff(...places)).files).toMatchObject([{ path: 'a.txt', change: 'created' }]);
    expect(await failureOf(() => seen.diff(...places, { content: true }))).toMatchObject({ code: 'FORBIDDEN' });
  });

  test('[DIFF11] damaged events and missing trees are reported, and the rest is compared', async () => {
    const session = await runtime.sessions.open();
    await session.append([user('one'), answer('1')]);
    const { seq } = await session.summary();
    await session.append([user('two'), answer('2')]);
    await session.files.write('a.txt', 'one\n');
    const [, , broken] = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'message.appended');
    // Folds go on from a snapshot, so that damaged events before it stay readable around them.
    const there = await openRuntime({
      store: place.address,
      data,
      worker: false,
      snapshots: { everyEvents: 1, everyBytes: 1e9 },
    });
    const reader = await there.sessions.get(session.id);
    for await (const { seq: each } of session.events()) await reader.state({ at: { seq: each } });
    await there.close();
    const zero = kind === 'sqlite' ? "x'00'" : "'\\x00'::bytea";
    await place.edit(
      (events) => `update ${events} set payload = ${zero} where seq = ${broken!.seq} and session = '${session.id}'`,
    );
    await place.edit((_, prefix) => `delete from ${prefix}blobs`);
    const again = await openRuntime({ store: place.address, data, worker: false });
    const diff = await (await again.sessions.get(session.id)).diff({ seq }, { session: session.id });
    expect(diff).toMatchObject({
      same: false,
      messages: [{ after: { text: '2' } }],
      files: [],
      unread: { before: 0, after: 1, files: expect.stringContaining('is not in the store') },
    });
    await again.close();
  });
});
