import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { Message } from '../../schema/message.ts';
import type { OwnState } from '../../schema/state.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';
import { verbatim } from '../session/events/digest.ts';

type Step =
  | { readonly do: 'ask' | 'answer' | 'crash' | 'compact' | 'retry' | 'pin' }
  | { readonly do: 'call'; readonly calls: number }
  | { readonly do: 'settle'; readonly share: number }
  | { readonly do: 'fork' | 'rewind'; readonly where: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('ask', 'answer', 'crash', 'compact', 'retry', 'pin') }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('call' as const), calls: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('settle' as const), share: fc.integer({ min: 1, max: 3 }) }) },
  fc.record({ do: fc.constantFrom('fork' as const, 'rewind' as const), where: fc.nat({ max: 1000 }) }),
) as fc.Arbitrary<Step>;

const callsOf = (message: Message | undefined) =>
  message?.role === 'assistant'
    ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
    : [];

const expectPaired = (messages: readonly Message[]) => {
  for (const [index, message] of messages.entries()) {
    const results = message.role === 'tool' ? message.content.map(({ callId }) => callId) : [];
    if (message.role === 'tool') expect(results).toEqual(callsOf(messages[index - 1]));
    if (callsOf(message).length > 0) expect(messages[index + 1]?.role).toBe('tool');
  }
};

/** An agent loop that can be interrupted at any step: its session and its open calls. */
interface Loop {
  session: Session<OwnState>;
  open: string[];
  made: number;
}

const perform = async (loop: Loop, each: Step): Promise<void> => {
  const { session } = loop;
  switch (each.do) {
    case 'ask':
      await session.append({ role: 'user', content: `ask ${'x'.repeat(loop.made * 7)}` });
      return;
    case 'answer':
      await session.append({ role: 'assistant', content: `answer ${'y'.repeat(loop.made * 5)}` });
      return;
    case 'call': {
      const made = Array.from({ length: each.calls }, () => `c${++loop.made}`);
      const content = made.map((callId) => ({ type: 'tool-call', callId, tool: 'read', input: {} }) as const);
      await session.append({ role: 'assistant', content });
      loop.open.push(...made);
      return;
    }
    case 'settle': {
      const settled = loop.open.splice(0, each.share);
      if (settled.length === 0) return;
      const content = settled.map(
        (callId) => ({ type: 'tool-result', callId, tool: 'read', outcome: 'ok', output: `of ${callId}` }) as const,
      );
      await session.append({ role: 'tool', content });
      return;
    }
    case 'crash':
      loop.open = [];
      return;
    case 'pin':
      await session.commit((draft) => {
        draft.facts[`f${loop.made}`] = { value: loop.made };
        draft.pins[`f${loop.made}`] = true;
        draft.pendingActions[`a${loop.made}`] = { what: `do ${loop.made}`, status: loop.made % 2 ? 'open' : 'settled' };
      });
      return;
    case 'compact':
      await session.compact({ keepTurns: 1 });
      return;
    case 'retry': {
      const { turn } = await session.summary();
      if (turn === 0) return;
      await session.retry({ turn, again: true });
      loop.open = [];
      return;
    }
    case 'rewind': {
      const { seq } = await session.summary();
      await session.rewind({ to: { seq: (each.where % seq) + 1 } });
      loop.open = [];
      return;
    }
    case 'fork': {
      const { seq } = await session.summary();
      loop.session = await session.fork({ at: { seq: (each.where % seq) + 1 } });
      if ((await loop.session.summary()).status === 'paused') await loop.session.resume();
      loop.open = [];
    }
  }
};

const contextWithin = (session: Session, seq: number, maxTokens: number) =>
  session.context({ at: { seq }, maxTokens }).catch((error) => {
    expect(error).toMatchObject({ code: 'INVALID_INPUT', details: { maxTokens } });
    expect(error.details.needed).toBeGreaterThan(maxTokens);
    return undefined;
  });

test('[CTX2] the token count of JSON includes its escapes', async () => {
  const coloured = Array.from({ length: 140 }, (_, at) => `\u001b[32m✓\u001b[39m \u001b[2mtest ${at}\u001b[22m`).join(
    '\n',
  );
  const rows = JSON.stringify(Array.from({ length: 90 }, (_, id) => ({ id, a: 'b', c: null, d: [''] })));
  for (const output of [{ exitCode: 0, stdout: coloured }, { stdout: '\u001b\u0008'.repeat(1700) }, { body: rows }]) {
    const runtime = await openRuntime({ store: openMemoryStore() });
    const session = await runtime.sessions.open();
    await session.append([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c', tool: 't', input: {} }] },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c', tool: 't', outcome: 'ok', output }] },
    ]);
    const { messages } = await session.context({ maxTokens: 2200 });
    const [result] = messages.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    const shown = typeof result!.output === 'string' ? result!.output : JSON.stringify(result!.output);
    expect(shown.length / 4).toBeLessThanOrEqual(1100);
    await runtime.close();
  }
});

test('[LOG9] changing a returned message does not affect the next read', async () => {
  const runtime = await openRuntime({ store: openMemoryStore() });
  const session = await runtime.sessions.open();
  await session.append({ role: 'user', content: 'hello' });
  for (const messages of [
    (await session.transcript()).entries.map(({ message }) => message),
    (await session.context()).messages,
  ]) {
    expect(messages).toMatchObject([{ content: [{ text: 'hello' }] }]);
    (messages[0]!.content[0] as { text: string }).text = 'changed';
  }
  expect((await session.context()).messages).toMatchObject([{ content: [{ text: 'hello' }] }]);
  await runtime.close();
});

describe('contexts of random sessions', () => {
  test('[CTX2, FOLD1] the context of a newly opened session equals the context at its newest point', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 40 }),
        fc.constantFrom(2, 5, 1000),
        async (steps, every) => {
          const database = newMemoryDatabase();
          const snapshots = { everyEvents: every, everyBytes: 1e9 };
          const runtime = await openRuntime({ store: openMemoryStore(database), snapshots });
          const loop: Loop = { session: await runtime.sessions.open(), open: [], made: 0 };
          for (const each of steps) await perform(loop, each);
          const { seq } = await loop.session.summary();
          const context = await loop.session.context({ at: { seq } });
          expect(await loop.session.context()).toEqual(context);
          const anew = await openRuntime({ store: openMemoryStore(database), snapshots });
          const session = await anew.sessions.get(loop.session.id);
          expect(await session.context()).toEqual(context);
          await Promise.all([runtime.close(), anew.close()]);
        },
      ),
      { numRuns: Number(process.env.PERDURE_PROPERTY_RUNS ?? 60) },
    );
  }, 120_000);

  test('[CTX2, CTX3, CTX6] every call has its result and mandatory parts are present, after every crash, fork, rewind and compaction, at every point', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 40 }), async (steps) => {
        const runtime = await openRuntime({ store: openMemoryStore(), snapshots: { everyEvents: 5, everyBytes: 1e9 } });
        const loop: Loop = { session: await runtime.sessions.open(), open: [], made: 0 };
        for (const each of steps) await perform(loop, each);
        const { seq } = await loop.session.summary();
        for (let at = 1; at <= seq; at++) {
          for (const maxTokens of [60, 300, 100_000]) {
            const context = await contextWithin(loop.session, at, maxTokens);
            if (!context) continue;
            expectPaired(context.messages);
            expect(context.tokens).toBeLessThanOrEqual(maxTokens);
          }
        }
        const { system } = await loop.session.context();
        const [start] = (await loop.session.transcript({ lastTurns: 1 })).entries.filter(
          ({ message }) => message.role === 'user',
        );
        const before = await loop.session.state(start && start.seq > 1 ? { at: { seq: start.seq - 1 } } : {});
        for (const line of verbatim(before)) expect(system).toContain(line);
        await runtime.close();
      }),
      { numRuns: Number(process.env.PERDURE_PROPERTY_RUNS ?? 60) },
    );
  }, 120_000);
});
