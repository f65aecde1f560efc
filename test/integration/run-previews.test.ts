import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { defineScript, defineTool, type Preview } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { startRuns } from '../support/runs/start-runs.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const count = defineTool({
  name: 'count',
  input: z.object({}),
  effects: 'none',
  execute: (_, { progress }) => {
    for (const n of [1, 2]) progress(`${n} of 2`);
    return 'counted';
  },
});
const script = defineScript({
  name: 'talker',
  steps: [{ reasoning: 'I count first.', calls: [{ tool: 'count', input: {} }] }, { text: 'One, and then two.' }],
});

test('[RUN18] previews show text and progress piece by piece before the log has them, and are not in the log', async () => {
  const { session, runtime, types } = await startRuns({ model: scriptedModel(script), tools: [count] });
  undo.push(() => runtime.close());
  const shown: Preview[] = [];
  const hadMessages: number[] = [];
  const unlisten = session.previews((preview) => {
    shown.push(preview);
    void session.summary().then(({ messages }) => hadMessages.push(messages));
  });
  await (await session.send('Go')).result();
  const answers = (await session.transcript()).flatMap(({ message }) =>
    message.role === 'assistant' ? [message] : [],
  );
  const piecesOf = (message: string, kind: string) =>
    shown.flatMap((each) =>
      each.type === 'delta' && each.message === message && each.kind === kind ? [each.text] : [],
    );
  expect(piecesOf(answers[0]!.id, 'reasoning')).toEqual(['I ', 'count ', 'first.']);
  expect(piecesOf(answers[1]!.id, 'text').join('')).toBe('One, and then two.');
  expect(shown.filter(({ type }) => type === 'progress')).toMatchObject([{ text: '1 of 2' }, { text: '2 of 2' }]);
  expect(hadMessages[0]).toBe(1);
  expect((await types()).filter((type) => type === 'message.appended')).toHaveLength(4);
  unlisten();
  const before = shown.length;
  await (await session.send('Again')).result();
  expect(shown).toHaveLength(before);
});

test('[RUN18] a listener that joins mid-message first gets the text so far, and nothing of messages in the log', async () => {
  const { session, runtime } = await startRuns({ model: scriptedModel(script), tools: [count] });
  undo.push(() => runtime.close());
  const late: Preview[] = [];
  let pieces = 0;
  session.previews((preview) => {
    if (preview.type === 'delta' && preview.kind === 'text' && ++pieces === 2)
      session.previews((each) => late.push(each));
  });
  await (await session.send('Go')).result();
  const joined = late.flatMap((each) => (each.type === 'delta' ? [each] : []));
  expect(joined[0]).toMatchObject({ offset: 0 });
  expect(joined.map(({ text }) => text).join('')).toBe('One, and then two.');
  for (const [place, { offset }] of joined.entries()) {
    expect(offset).toBe(joined.slice(0, place).reduce((sum, { text }) => sum + text.length, 0));
  }
  const after: Preview[] = [];
  session.previews((each) => after.push(each));
  expect(after).toEqual([]);
});
