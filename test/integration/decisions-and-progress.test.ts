import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, defineScript, openRuntime } from '../../src/index.ts';
import { decideTool, progressTool } from '../../src/tools/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const decide = (confidence: number, alternatives: readonly string[]) => ({
  tool: 'decide',
  input: { id: 'storage', what: 'SQLite', why: 'it survives a restart', confidence, alternatives: [...alternatives] },
});
const note = (text: string) => ({ tool: 'progress', input: { note: text } });
const script = defineScript({
  name: 'test',
  steps: [
    { calls: [decide(0.6, ['Map', 'Redis']), note('half'), note('half')] },
    { text: 'One.' },
    { calls: [decide(0.9, ['Redis', 'files']), note('done')] },
    { text: 'Two.' },
  ],
});
const agent = defineAgent({ name: 'tester', model: script, tools: [decideTool, progressTool] });

describe.each(storeKinds)('decisions and progress on %s', (kind) => {
  let place: StorePlace;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());

  const start = async () => {
    const runtime = await openRuntime({ store: place.address, agents: [agent] });
    onTestFinished(() => runtime.close());
    return { runtime, session: await runtime.sessions.open({ agent }) };
  };

  test('[WHY8] the tool decide stores confidence and alternatives, contexts show them, and a diff their shift', async () => {
    const { session } = await start();
    await (await session.send('One')).result();
    await (await session.send('Two')).result();
    const decided = { what: 'SQLite', why: 'it survives a restart' };
    expect((await session.diff({ turn: 1 }, { turn: 2 })).decisions).toEqual([
      {
        id: 'storage',
        before: { ...decided, confidence: 0.6, alternatives: ['Map', 'Redis'] },
        after: { ...decided, confidence: 0.9, alternatives: ['Redis', 'files'] },
      },
    ]);
    await session.append({ role: 'user', content: 'Three' });
    expect((await session.context()).system).toContain(
      'storage: SQLite (because it survives a restart; confidence 0.9; decided against Redis, files)',
    );
  });

  test.each([
    ['a confidence over 1', { confidence: 1.1 }],
    ['a negative confidence', { confidence: -0.1 }],
    ['too many alternatives', { alternatives: Array(21).fill('x') }],
    ['an alternative that is too long', { alternatives: ['x'.repeat(501)] }],
    ['an empty alternative', { alternatives: [''] }],
  ])('[WHY8] %s is rejected', async (_, details) => {
    const { session } = await start();
    const decided = session.commit((draft) => {
      draft.decisions.storage = { what: 'SQLite', why: 'it lasts', ...details };
    });
    await expect(decided).rejects.toMatchObject({ code: 'STATE_INVALID' });
  });

  test('[WHY9] each note has a key of its own, also in parallel branches, and adoption keeps all of them', async () => {
    const { session } = await start();
    await (await session.send('One')).result();
    const branches = [await session.fork(), await session.fork()];
    for (const branch of branches) await (await branch.send('Two')).result();
    for (const branch of branches) {
      const { conflicts } = await session.adopt(branch);
      expect(conflicts.filter(({ path }) => path.startsWith('/progress'))).toEqual([]);
    }
    const { progress } = await session.state();
    expect(Object.values(progress).map(({ note: text }) => text)).toEqual(['half', 'half', 'done', 'done']);
    for (const key of Object.keys(progress)) expect(key).toMatch(/^note_[0-9a-z]{26}$/);
  });

  test('[WHY9] a context shows the newest 20 notes, and the others can be recalled', async () => {
    const { session } = await start();
    await session.commit((draft) => {
      for (let n = 1; n <= 25; n++) draft.progress[`n${n}`] = { note: `note number ${n}.` };
    });
    await session.append({ role: 'user', content: 'Go' });
    const { system } = await session.context();
    expect(system.match(/note number \d+\./g)).toEqual(Array.from({ length: 20 }, (_, n) => `note number ${25 - n}.`));
    expect(system).toContain('(5 more: recall progress)');
    expect(JSON.stringify(await session.recall('progress'))).toContain('note number 1.');
  });
});
