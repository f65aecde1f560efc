import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineAgent, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('contexts on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  const agent = defineAgent({ name: 'coder', version: 1, instructions: 'You write code.' });
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });
  const turn = (session: Session, number: number) =>
    session.append([
      { role: 'user', content: `ask ${number}` },
      { role: 'assistant', content: [{ type: 'tool-call', callId: `c${number}`, tool: 'read', input: { number } }] },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', callId: `c${number}`, tool: 'read', outcome: 'ok', output: `content ${number}` },
        ],
      },
      { role: 'assistant', content: `reply ${number}` },
    ]);

  test('[CTX4] within a turn each context extends the previous one, and the next turn sees what was committed', async () => {
    const session = await runtime.sessions.open({ agent });
    await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
    await session.append({ role: 'user', content: 'go' });
    const first = await session.context();
    expect(first.system).toContain('You write code.');
    expect(first.system).toContain('port: 8080');
    await session.commit((draft) => Object.assign(draft.facts, { host: 'localhost' }), { by: 'model' });
    await session.append({ role: 'assistant', content: 'going' });
    const second = await session.context();
    expect(second.system).toBe(first.system);
    expect(JSON.stringify(second.messages.slice(0, first.messages.length))).toBe(JSON.stringify(first.messages));
    await session.append({ role: 'user', content: 'next' });
    expect((await session.context()).system).toContain('host: localhost');
  });

  test('[CTX5, CTX12] compaction keeps the transcript whole, puts a summary into the context, and every evicted key can be recalled', async () => {
    const session = await runtime.sessions.open();
    for (let number = 1; number <= 10; number++) await turn(session, number);
    const transcript = (await session.transcript()).entries;
    const compaction = await session.compact({ keepTurns: 3 });
    expect(compaction!.evicted[0]!.key).toBe('turns:1-7');
    expect((await session.transcript()).entries).toEqual(transcript);
    const context = await session.context();
    expect(context.messages[0]).toMatchObject({ role: 'user', content: [{ text: 'ask 8' }] });
    expect(context.messages).toHaveLength(12);
    expect(context.system).toContain('Turn 1: asked "ask 1" used read answered "reply 1"');
    for (const { key, name } of compaction!.evicted) {
      expect(context.system).toContain(key.startsWith('turn') ? key : name);
      expect(await session.recall(key)).not.toHaveLength(0);
    }
    expect(JSON.stringify(await session.recall('call:c3'))).toContain('content 3');
    expect(JSON.stringify(await session.recall('turn:5'))).toContain('reply 5');
    await expect(session.recall('turn:99')).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
    await expect(session.recall('nonsense')).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
  });

  test('[CTX13] a second compaction continues from the first, and a rewind before it undoes it', async () => {
    const session = await runtime.sessions.open();
    for (let number = 1; number <= 6; number++) await turn(session, number);
    await session.compact({ keepTurns: 2 });
    expect(await session.compact({ keepTurns: 2 })).toBeUndefined();
    for (let number = 7; number <= 9; number++) await turn(session, number);
    const given: string[] = [];
    const summarize = async ({
      entries,
      previous,
    }: {
      entries: readonly { turn: number }[];
      previous?: string | undefined;
    }) => {
      given.push(previous ?? '', ...new Set(entries.map((entry) => `${entry.turn}`)));
      return 'by a model';
    };
    await session.compact({ keepTurns: 2, summarize });
    expect(given[0]).toContain('Turn 4');
    expect(given.slice(1)).toEqual(['5', '6', '7']);
    expect((await session.context()).system).toContain('by a model');
    await session.rewind({ to: { turn: 6 } });
    expect((await session.context()).system).toContain('Turn 4');
    await session.rewind({ to: { turn: 3 } });
    expect((await session.context()).messages).toHaveLength(12);
    const { system } = await session.context();
    expect(system).toMatch(/^# What already happened\n\n6 calls with effects /);
    expect(system).not.toMatch(/Turn 4|by a model/);
  });

  test('[CTX6] pinned facts and open actions appear verbatim, whatever else is left out', async () => {
    const session = await runtime.sessions.open();
    await session.commit((draft) => {
      for (let index = 0; index < 500; index++) draft.facts[`fact${index}`] = `value ${index} ${'x'.repeat(100)}`;
      draft.facts.rule = { never: 'touch "main" — ever' };
      draft.pendingActions.deploy = { what: 'deploy on Monday,\nnot before', status: 'open' };
      draft.pendingActions.old = { what: 'long settled', status: 'settled' };
    });
    await session.pin('rule');
    for (let number = 1; number <= 4; number++) await turn(session, number);
    await session.compact({ keepTurns: 1, summarize: () => 'short' });
    const { system } = await session.context({ maxTokens: 2000 });
    expect(system).toContain('rule: {"never":"touch "main" — ever"}'.replaceAll('"main"', '\\"main\\"'));
    expect(system).toContain('deploy: deploy on Monday,\nnot before');
    expect(system).not.toContain('long settled');
    expect(system).toMatch(/\d+ more: recall facts/);
    expect(Object.keys((await session.recall('facts')) as object)).toHaveLength(501);
    await session.unpin('rule');
    await expect(session.pin('nothing')).rejects.toMatchObject({ code: 'STATE_INVALID' });
  });
});
