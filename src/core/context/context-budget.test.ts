import { describe, expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';
import { defineAgent } from '../session/agent.ts';
import { estimateTokens, textTokens } from '../session/context/context-units.ts';

const open = async () => (await openRuntime({ store: openMemoryStore() })).sessions.open();

const addTurns = async (session: Session, count: number) => {
  for (let turn = 1; turn <= count; turn++) {
    await session.append({ role: 'user', content: `ask ${turn}` });
    await session.append({ role: 'assistant', content: `answer ${turn}` });
  }
};

describe('the budget of a context', () => {
  test('[CTX10] a budget too small for the mandatory parts of a context is rejected, with the size that they need', async () => {
    const session = await open();
    await session.commit((draft) => {
      draft.facts.big = 'x'.repeat(8000);
      draft.pendingActions.deploy = { what: 'y'.repeat(4000), status: 'open' };
    });
    await session.pin('big');
    await addTurns(session, 3);
    const refused = await session.context({ maxTokens: 500 }).catch((error) => error);
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(/raise maxTokens.*unpin/i) });
    const { needed } = refused.details;
    await expect(session.context({ maxTokens: needed - 1 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await session.context({ maxTokens: needed })).toMatchObject({ tokens: needed, messages: { length: 1 } });
  });

  test('[CTX10] an opening message larger than the budget is rejected instead of sent', async () => {
    const session = await open();
    await session.append({ role: 'user', content: 'x'.repeat(4000) });
    await expect(session.context({ maxTokens: 500 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[CTX11, CTX5] a summary and keys that are too long are cut to a share of the budget, and say how to recall the rest', async () => {
    const session = await open();
    for (let turn = 1; turn <= 3; turn++) {
      const calls = Array.from({ length: 100 }, (_, index) => `call-${turn}-${index}`);
      const common = { tool: 'read' } as const;
      await session.append({ role: 'user', content: `ask ${turn}` });
      await session.append({
        role: 'assistant',
        content: calls.map((callId) => ({ type: 'tool-call', callId, ...common, input: { path: callId } })),
      });
      await session.append({
        role: 'tool',
        content: calls.map((callId) => ({ type: 'tool-result', callId, ...common, outcome: 'ok', output: 1 })),
      });
    }
    await session.append({ role: 'user', content: 'last' });
    const summary = 'word '.repeat(3900);
    await session.compact({ keepTurns: 1, summarize: () => summary });
    for (const maxTokens of [200, 500, 2000]) {
      const { system, tokens, messages } = await session.context({ maxTokens });
      expect(tokens).toBe(textTokens(system) + messages.reduce((sum, each) => sum + estimateTokens(each), 0));
      expect(tokens).toBeLessThanOrEqual(maxTokens);
      expect(messages).toHaveLength(1);
      expect(system).toMatch(/\d+ more characters: recall summary/);
      expect(system).toContain('turns:1-3');
      expect(system).toMatch(/\d+ more calls/);
    }
    expect(await session.recall('summary')).toBe(summary);
  });
});

test('[CTX2] a result larger than the budget is cut in its own turn and in the next turn, and can be recalled whole', async () => {
  const session = await open();
  const output = 'z'.repeat(500_000);
  const call = { callId: 'c1', tool: 'cat' } as const;
  await addTurns(session, 2);
  await session.append([
    { role: 'user', content: 'do it' },
    { role: 'assistant', content: [{ type: 'tool-call', ...call, input: {} }] },
    { role: 'tool', content: [{ type: 'tool-result', ...call, outcome: 'ok', output }] },
  ]);
  const during = await session.context();
  expect(during.messages).toHaveLength(7);
  await addTurns(session, 1);
  const { messages, tokens } = await session.context();
  expect(tokens).toBeLessThan(100_000);
  expect(messages).toHaveLength(9);
  expect(JSON.stringify(messages[6])).toContain('recall \\"cat in turn 3\\" for all of it');
  expect(JSON.stringify(await session.recall('cat in turn 3'))).toContain(output);
  expect(JSON.stringify(await session.recall('call:c1'))).toContain(output);
});

test('[AGT3] a session whose agent is missing has no context, unless the caller passes instructions', async () => {
  const database = newMemoryDatabase();
  const agentOf = (version: number) => defineAgent({ name: 'coder', version, instructions: `coder ${version}` });
  const runtime = await openRuntime({ store: openMemoryStore(database), agents: [agentOf(1)], worker: false });
  const { id } = await runtime.sessions.open({ agent: agentOf(1) });
  await runtime.close();
  const later = await openRuntime({ store: openMemoryStore(database), agents: [agentOf(2)], worker: false });
  const session = await later.sessions.get(id);
  await expect(session.context()).rejects.toMatchObject({ code: 'AGENT_VERSION_UNAVAILABLE' });
  expect(await session.context({ instructions: 'anyone' })).toMatchObject({ system: 'anyone' });
});

test('[CTX8] a context marks every unverified entry, pinned or not', async () => {
  const session = await open();
  await session.append({ role: 'user', content: 'go' });
  await session.commit(
    (draft) => {
      Object.assign(draft.facts, { pinned: 1, other: 2 });
      draft.decisions.db = { what: 'SQLite', why: 'one file' };
      draft.plan.first = { step: 'begin', status: 'todo', order: 1 };
      draft.pendingActions.deploy = { what: 'deploy', status: 'open' };
      draft.progress.half = { note: 'half done' };
    },
    { by: 'model', provenance: 'unverified' },
  );
  await session.pin('pinned');
  await session.commit((draft) => Object.assign(draft.facts, { sure: 3 }));
  await session.append({ role: 'user', content: 'on' });
  const { system } = await session.context();
  const lines = system.split('\n').filter((line) => line.startsWith('- '));
  expect(lines.filter((line) => line.endsWith(' (unverified)'))).toHaveLength(6);
  expect(lines.filter((line) => !line.endsWith(' (unverified)'))).toEqual(['- sure: 3']);
});
