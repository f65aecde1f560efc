import { describe, expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import type { AppendOutcome, AppendRequest } from '../ports/store.ts';
import { defineAgent } from '../session/agent.ts';

/**
 * A store that answers appends to existing sessions from a script. Once the script is used up, the store appends for
 * real.
 */
const scripted = (answers: AppendOutcome[]) => {
  const real = openMemoryStore();
  const asked: AppendRequest[] = [];
  const store: RuntimeStore = {
    ...real,
    append: async (request) => {
      if (request.creates) return real.append(request);
      asked.push(request);
      return answers.shift() ?? real.append(request);
    },
  };
  return { store, asked };
};

const conflicts = (count: number) => Array.from({ length: count }, () => ({ outcome: 'conflict', head: 9 }) as const);

describe('a command', () => {
  test('[LIFE2] is decided again when the head has moved', async () => {
    const { store, asked } = scripted(conflicts(3));
    const session = await (await openRuntime({ store })).sessions.open();
    await session.close();
    expect(asked).toHaveLength(4);
    expect((await session.summary()).status).toBe('closed');
  });

  test('[LIFE2] fails with CONFLICT after twenty decisions, and the error says what to do', async () => {
    const { store, asked } = scripted(conflicts(50));
    const session = await (await openRuntime({ store })).sessions.open();
    await expect(session.close()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('try again'),
    });
    expect(asked).toHaveLength(20);
  });

  test('[LOG4] names its head if it is a decision, and none if it is a fact', async () => {
    const { store, asked } = scripted([]);
    const session = await (await openRuntime({ store })).sessions.open();
    await session.append({ role: 'user', content: 'a fact' });
    await session.pause();
    expect(asked.map(({ onHead }) => onHead)).toEqual([undefined, 2]);
    expect(asked[0]!.whileStatus).toEqual(['open', 'active', 'pausing']);
  });

  test('[WR1] of a fenced writer fails, and the error says that another writer has taken over', async () => {
    const { store } = scripted([{ outcome: 'fenced', epoch: 3 }]);
    const session = await (await openRuntime({ store })).sessions.open();
    await expect(session.pause()).rejects.toMatchObject({ code: 'FENCED', details: { epoch: 3 } });
  });

  test('[WR4] is decided again when the session had another status at the append, because that status may have changed since', async () => {
    const { store, asked } = scripted([{ outcome: 'status', status: 'closed' }]);
    const session = await (await openRuntime({ store })).sessions.open();
    expect(await session.append({ role: 'user', content: 'hello' })).toHaveLength(1);
    expect(asked).toHaveLength(2);
  });

  test('[TRACK2, WR1] that ends calls is decided again when another writer took over these calls meanwhile', async () => {
    const answers: AppendOutcome[] = [];
    const { store, asked } = scripted(answers);
    const session = await (await openRuntime({ store, onWarning: () => undefined })).sessions.open();
    const begun = Promise.withResolvers<void>();
    const over = Promise.withResolvers<string>();
    const tools = await session.track({
      wait: () => {
        begun.resolve();
        return over.promise;
      },
    });
    const waiting = tools.wait();
    await begun.promise;
    const before = asked.length;
    answers.push({ outcome: 'fenced', epoch: 9 });
    await session.close();
    expect(asked).toHaveLength(before + 2);
    expect((await session.toolCalls()).calls.map(({ status }) => status)).toEqual(['interrupted']);
    over.resolve('too late');
    expect(await waiting).toBe('too late');
  });

  test('[WR2, REW2] raises the epoch when it rewinds', async () => {
    const { store, asked } = scripted([]);
    const session = await (await openRuntime({ store })).sessions.open();
    await session.append({ role: 'user', content: 'hello' });
    await session.rewind({ to: { turn: 0 } });
    expect(asked.map(({ raisesEpoch }) => raisesEpoch ?? false)).toEqual([false, true]);
  });

  test('[KEY1, FAULT2] whose key refers to missing events fails, instead of returning fewer events', async () => {
    const { store } = scripted([{ outcome: 'duplicate', seq: 1, count: 2 }]);
    const session = await (await openRuntime({ store })).sessions.open();
    const again = session.append({ role: 'user', content: 'hello' }, { idempotencyKey: 'k' });
    await expect(again).rejects.toMatchObject({ code: 'EVENT_DAMAGED', details: { seq: 1 } });
  });

  test('[KEY5, KEY2] matches its key when its fields are in another order, but not when a value differs', async () => {
    const session = await (await openRuntime({ store: openMemoryStore() })).sessions.open();
    const key = { idempotencyKey: 'k' };
    const [first] = await session.append({ role: 'user', content: 'hello' }, key);
    expect(await session.append({ content: 'hello', role: 'user' }, key)).toEqual([first]);
    await expect(session.append({ content: 'other', role: 'user' }, key)).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });
});

test('[RUN1] an input for a session in use is admitted without reading its head', async () => {
  const real = openMemoryStore();
  let reads = 0;
  const head: RuntimeStore['head'] = (key) => {
    reads += 1;
    return real.head(key);
  };
  const coder = defineAgent({ name: 'coder', version: 1, model: 'scripted/demo' });
  const runtime = await openRuntime({ store: { ...real, head }, agents: [coder] });
  const session = await runtime.sessions.open({ agent: coder });
  const before = reads;
  await session.send('go');
  expect(reads).toBe(before);
  await runtime.close();
});

describe('a tracked call', () => {
  const start = async (answers: AppendOutcome[]) => {
    const { store, asked } = scripted(answers);
    const warnings: unknown[] = [];
    const runtime = await openRuntime({ store, onWarning: (problem) => warnings.push(problem) });
    const session = await runtime.sessions.open();
    return { session, asked, warnings, tools: await session.track({ read: async () => 'text' }) };
  };

  test('[LOG4] is appended as a fact by the last attempt to claim the session', async () => {
    const { asked, tools } = await start(conflicts(19));
    expect(await tools.read()).toBe('text');
    expect(asked.map(({ onHead }) => onHead !== undefined).slice(0, 20)).toEqual([...Array(19).fill(true), false]);
  });

  test('[TRACK2, WR1] claims the session again when another tracker claimed the session meanwhile', async () => {
    const { asked, tools, warnings } = await start([{ outcome: 'fenced', epoch: 1 }]);
    expect(await tools.read()).toBe('text');
    expect(asked.map(({ raisesEpoch }) => raisesEpoch ?? false)).toEqual([true, true, false, false]);
    expect(warnings).toEqual([]);
  });

  test('[LIFE2] is rejected without a retry in the status that it was decided on', async () => {
    const { session, asked, tools } = await start([]);
    await session.close();
    const before = asked.length;
    await expect(tools.read()).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    expect(asked).toHaveLength(before + 1);
  });

  test('[LOG4] records its end as a fact by the last attempt, and a warning says that the state is unchanged', async () => {
    const answers: AppendOutcome[] = [];
    const { session, asked, tools, warnings } = await start(answers);
    await tools.read();
    const before = asked.length;
    const { toolsUsed } = await session.state();
    const again = await session.track({ read: async () => answers.push(...conflicts(19)) });
    await again.read();
    expect(asked).toHaveLength(before + 1 + 20);
    expect(asked.at(-1)!.onHead).toBeUndefined();
    expect(warnings).toMatchObject([{ code: 'CONFLICT' }]);
    expect((await session.toolCalls()).calls.map(({ status }) => status)).toEqual(['ok', 'ok']);
    expect((await session.state()).toolsUsed).toEqual(toolsUsed);
  });
});
