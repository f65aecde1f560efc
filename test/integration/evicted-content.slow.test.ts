import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelAnswer, ModelRequest } from '../../src/core/ports/model.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import {
  type AgentDefinition,
  defineAgent,
  defineTool,
  openRuntime,
  PerdureError,
  type Session,
  type SessionEvent,
} from '../../src/index.ts';
import { newWorkspace } from '../../src/testing/contract/contract-setup.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const contentOf = (path: string, chars: number): string => `${path}: ${'0123456789'.repeat(chars / 10)} end of ${path}`;
const read = defineTool({
  name: 'read',
  input: z.object({ path: z.string(), chars: z.number() }),
  effects: 'none',
  usesFiles: false,
  execute: ({ path, chars }) => contentOf(path, chars),
});

type Step = (request: ModelRequest) => string | { readonly tool: string; readonly input: unknown };

/** A model that takes the steps in order, and keeps its requests. */
const stepping = (steps: readonly Step[], contextTokens = 21_000) => {
  const requests: ModelRequest[] = [];
  const model: Model = {
    name: 'test/stepping',
    contextTokens,
    price: null,
    answer: async (request): Promise<ModelAnswer> => {
      const step = steps[requests.length]?.(request) ?? 'Done.';
      requests.push(request);
      const parts: ModelAnswer['parts'] =
        typeof step === 'string'
          ? [{ type: 'text', text: step }]
          : [{ type: 'tool-call', callId: `call_${requests.length}`, ...step, input: step.input as never }];
      return { parts, finish: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  return { model, requests };
};
const reads =
  (path: string, chars: number): Step =>
  () => ({ tool: 'read', input: { path, chars } });
const says = (): Step => () => 'Done.';
const lastResult = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? message.content : [])).at(-1)!;
const offered = ({ tools }: ModelRequest): readonly string[] => tools.map(({ name }) => name);
const toolsCalled = async (session: Session) =>
  (await Array.fromAsync(session.events()))
    .filter((event): event is SessionEvent<'model.called'> => event.type === 'model.called')
    .map(({ payload }) => payload.tools);

describe.each(storeKinds)('evicted content on %s', (kind) => {
  let place: StorePlace;
  let store: RuntimeStore;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    store = await openStoreAt(place.address);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });

  const runtimeOn = async (agents: readonly ReturnType<typeof defineAgent>[], on: Partial<RuntimeStore> = {}) => {
    const runtime = await openRuntime({
      store: overrideStore(store, { close: async () => undefined, ...on }),
      agents,
      worker: false,
      timing: { modelBackoffMs: 1 },
      masterKey: randomBytes(32).toString('base64'),
    });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const start = async (
    steps: readonly Step[],
    {
      contextTokens,
      on,
      ...more
    }: { contextTokens?: number; on?: Partial<RuntimeStore> } & Partial<AgentDefinition> = {},
  ) => {
    const { model, requests } = stepping(steps, contextTokens);
    const agent = defineAgent({ name: 'tester', model, tools: [read], settings: { maxOutputTokens: 1000 }, ...more });
    const identity = { workspace: newWorkspace(), member: 'local', role: 'admin' } as const;
    const runtime = (await runtimeOn([agent], on)).as(identity);
    const worker = runtime.worker();
    await worker.start();
    const session = await runtime.sessions.open({ agent });
    const ask = async (text: string) =>
      expect(await (await session.send(text)).result()).toMatchObject({ status: 'succeeded' });
    const other = async () => (await runtimeOn([agent])).as(identity);
    return { session, requests, ask, worker, other };
  };
  const openSession = async () =>
    (await runtimeOn([])).as({ workspace: newWorkspace(), member: 'local', role: 'admin' }).sessions.open();

  test('[EVICT2, EVICT4, EVICT5] a model recalls a file that compaction evicted, by the name in its context', async () => {
    const { session, requests, ask } = await start([
      reads('src/a.ts', 2000),
      says(),
      says(),
      ({ instructions }) => ({ tool: 'recall', input: { key: /- (file .*)$/m.exec(instructions)![1] } }),
    ]);
    await ask('look');
    await session.compact({ keepTurns: 1 });
    await ask('and?');
    expect(requests.map(offered)).toEqual([['read'], ['read'], ['read']]);
    await session.compact({ keepTurns: 1 });
    await ask('what was in the file?');
    const [compacted, answered] = requests.slice(-2) as [ModelRequest, ModelRequest];
    expect(compacted.instructions).toContain('- file src/a.ts as read in turn 1');
    expect(compacted.instructions).not.toMatch(/call[:_]/);
    expect(offered(compacted)).toEqual(['read', 'recall']);
    expect(lastResult(answered)).toMatchObject({
      tool: 'recall',
      outcome: 'ok',
      output: [{ tool: 'read', turn: 1, outcome: 'ok', output: contentOf('src/a.ts', 2000) }],
    });
    expect((await toolsCalled(session)).at(-1)).toEqual(['read', 'recall']);
    expect((await toolsCalled(session))[0]).toEqual(['read']);
    expect((await session.toolCalls({ tool: 'recall' })).calls).toMatchObject([{ status: 'ok' }]);
    const { evicted } = await session.context();
    expect(evicted).toContainEqual({ key: 'file:src/a.ts@turn:1', name: 'file src/a.ts as read in turn 1' });
    expect(await session.recall('file:src/a.ts@turn:1')).toMatchObject([{ output: contentOf('src/a.ts', 2000) }]);
  });

  test('[EVICT5, EVICT7, RUN13] a model reads all of a cut output by its name, in pieces', async () => {
    const next = (request: ModelRequest) => (lastResult(request).output as { readonly next?: number }).next;
    const nameIn = (request: ModelRequest) =>
      /recall "(.*)" for all of it/.exec(JSON.stringify(request.messages).replaceAll('\\"', '"'))![1];
    const piece: Step = (request) => {
      const offset = lastResult(request).tool === 'recall' ? next(request) : 0;
      return offset === undefined ? 'Done.' : { tool: 'recall', input: { key: nameIn(request), offset } };
    };
    const { session, requests, ask } = await start([reads('big.txt', 40_000), piece, piece, piece, piece, piece], {
      contextTokens: 100_000,
    });
    await ask('look');
    expect(offered(requests[0]!)).toEqual(['read']);
    expect(offered(requests[1]!)).toEqual(['read', 'recall']);
    const pieces = (await Array.fromAsync(session.events()))
      .filter((event): event is SessionEvent<'tool.completed'> => event.type === 'tool.completed')
      .filter(({ payload }) => payload.tool === 'recall')
      .map(({ payload }) => (payload.output as { readonly text: string }).text);
    expect(pieces.length).toBeGreaterThan(2);
    expect(JSON.parse(pieces.join(''))).toMatchObject([{ tool: 'read', output: contentOf('big.txt', 40_000) }]);
    const [part] = (await session.transcript()).entries.flatMap(({ cut }) => cut ?? []);
    expect(part).toBe('file:big.txt@turn:1');
    expect((await session.context()).evicted).toEqual([{ key: part, name: 'file big.txt as read in turn 1' }]);
  });

  test('[EVICT5] an agent that lists its tools alone has no recall unless it lists it', async () => {
    const { requests, ask } = await start(
      [reads('big.txt', 40_000), () => ({ tool: 'recall', input: { key: 'turn:1' } })],
      {
        policies: { recall: 'listed' },
      },
    );
    await ask('look');
    expect(requests.map(offered)).toEqual([['read'], ['read'], ['read']]);
    expect(lastResult(requests[2]!)).toMatchObject({ outcome: 'unknown_tool' });
    expect(() => defineAgent({ name: 'a', policies: { recall: 'never' as never } })).toThrow(
      'policies.recall: expected auto or listed',
    );
  });

  test('[EVICT6] a call of recall that a worker left in flight is finished by another worker', async () => {
    let refused = 0;
    const { session, requests, worker, other } = await start(
      [reads('big.txt', 40_000), () => ({ tool: 'recall', input: { key: 'file:big.txt@turn:1' } })],
      {
        on: {
          append: (request) => {
            const isRecalled = JSON.stringify(request.events.map(({ actor }) => actor)).includes('tool:recall');
            if (!isRecalled) return store.append(request);
            refused += 1;
            return Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'the store is down'));
          },
        },
      },
    );
    const run = await session.send('look');
    await expect.poll(() => refused).toBeGreaterThan(0);
    await worker.stop();
    const calls = (await session.toolCalls({ tool: 'recall' })).calls;
    expect(calls).toMatchObject([{ status: 'running' }]);
    await (await other()).worker().start();
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    expect(lastResult(requests.at(-1)!)).toMatchObject({ tool: 'recall', outcome: 'ok', output: { offset: 0 } });
    expect((await session.toolCalls({ tool: 'recall' })).calls).toMatchObject([{ status: 'ok' }]);
  });

  test('[EVICT2] calls of a turn with the same name come back together, also with a late result', async () => {
    const session = await openSession();
    const call = (callId: string, path: string) =>
      ({ type: 'tool-call', callId, tool: 'read', input: { path } }) as const;
    const result = (callId: string, output: string) =>
      ({ type: 'tool-result', callId, tool: 'read', outcome: 'ok', output }) as const;
    await session.append([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [call('a', 'x'), call('b', 'y'), call('c', 'x')] },
      { role: 'tool', content: [result('a', 'first'), result('b', 'other')] },
    ]);
    await session.append({ role: 'user', content: 'next' });
    expect(await session.recall('file:x@turn:1')).toMatchObject([
      { callId: 'a', output: 'first' },
      { callId: 'c', input: { path: 'x' } },
    ]);
    await session.append({ role: 'tool', content: [result('c', 'late')] });
    expect(await session.recall('file x as read in turn 1')).toMatchObject([{ output: 'first' }, { output: 'late' }]);
    for (const key of ['file:z@turn:1', 'file:x@turn:2', 'file x as read in turn 9']) {
      await expect(session.recall(key)).rejects.toThrow('no call of that turn has this name');
    }
  });

  test('[EVICT8, EVICT4] a context without a summary names the earlier turns that it leaves out', async () => {
    const session = await openSession();
    for (let turn = 1; turn <= 30; turn++) {
      await session.append([
        { role: 'user', content: `ask ${turn} ${'x'.repeat(400)}` },
        { role: 'assistant', content: `answer ${turn}` },
      ]);
    }
    const { system, evicted, messages, tokens } = await session.context({ maxTokens: 1000 });
    expect(tokens).toBeLessThanOrEqual(1000);
    const first = Number(/ask (\d+)/.exec(JSON.stringify(messages[0]))![1]);
    expect(evicted).toEqual([{ key: `turns:0-${first - 1}`, name: `turns 0 to ${first - 1}` }]);
    expect(system).toContain(`recall turns:0-${first - 1}`);
    const recalled = JSON.stringify(await session.recall(evicted[0]!.name));
    expect(recalled).toContain('ask 1 x');
    expect(recalled).toContain(`answer ${first - 1}`);
    expect((await session.context({ maxTokens: 100_000 })).evicted).toEqual([]);
  });

  test('[EVICT4] everything that any context lists as evicted can be recalled, by key and by name', async () => {
    const path = fc.oneof(fc.constantFrom('src/a.ts', 'src/b.ts'), fc.string({ unit: 'grapheme', maxLength: 120 }));
    const input = fc.oneof(
      path.map((given) => ({ tool: 'read', input: { path: given } })),
      path.map((given) => ({ tool: 'shell', input: { command: given } })),
      fc.jsonValue({ maxDepth: 2 }).map((value) => ({ tool: 'odd: tool', input: { value } as never })),
    );
    const turn = fc.array(fc.tuple(input, fc.constantFrom(5, 300, 30_000)), { maxLength: 4 });
    const shape = fc.record({
      turns: fc.array(turn, { minLength: 1, maxLength: 6 }),
      keepTurns: fc.integer({ min: 1, max: 6 }),
      rewindTo: fc.option(fc.integer({ min: 1, max: 6 })),
      maxTokens: fc.constantFrom(400, 2000, 100_000),
    });
    let listed = 0;
    const session = await openSession();
    await fc.assert(
      fc.asyncProperty(shape, async ({ turns, keepTurns, rewindTo, maxTokens }) => {
        const branch = await session.fork({ at: { seq: 1 } });
        const outputs = new Map<string, string>();
        for (const [at, calls] of turns.entries()) {
          const made = calls.map(([call, chars], index) => ({ callId: `c${at}-${index}`, chars, ...call }));
          for (const { callId, chars } of made) outputs.set(callId, `${callId} ${'z'.repeat(chars)}`);
          await branch.append({ role: 'user', content: `ask ${at}` });
          if (made.length === 0) continue;
          await branch.append([
            {
              role: 'assistant',
              content: made.map(({ callId, tool, input: given }) => ({
                type: 'tool-call',
                callId,
                tool,
                input: given,
              })),
            },
            {
              role: 'tool',
              content: made.map(({ callId, tool }) => ({
                type: 'tool-result',
                callId,
                tool,
                outcome: 'ok',
                output: outputs.get(callId)!,
              })),
            },
          ]);
        }
        await branch.compact({ keepTurns });
        if (rewindTo !== null && rewindTo < turns.length) await branch.rewind({ to: { turn: rewindTo } });
        await branch.append({ role: 'user', content: 'now' });
        const { evicted } = await branch.context({ maxTokens });
        for (const { key, name } of evicted) {
          listed += 1;
          const found = await branch.recall(key);
          expect(JSON.stringify(found)).not.toBe('[]');
          expect(await branch.recall(name)).toEqual(found);
          if (!key.includes('@turn:')) continue;
          for (const call of found as readonly { callId: string; output: string }[]) {
            expect(call.output).toBe(outputs.get(call.callId));
          }
        }
      }),
      { numRuns: 15, endOnFailure: true },
    );
    expect(listed).toBeGreaterThan(0);
  });

  test('[EVICT4] a secret that was added later is not in the names, and they still work', async () => {
    const { model } = stepping([]);
    const agent = defineAgent({ name: 'tester', model });
    const runtime = (await runtimeOn([agent])).as({ workspace: newWorkspace(), member: 'local', role: 'admin' });
    const session = await runtime.sessions.open({ agent });
    const call = { callId: 'a', tool: 'shell' } as const;
    await session.append([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool-call', ...call, input: { command: 'login hunter2hunter2' } }] },
      { role: 'tool', content: [{ type: 'tool-result', ...call, outcome: 'ok', output: 'welcome' }] },
    ]);
    await session.append({ role: 'user', content: 'next' });
    await session.compact({ keepTurns: 1 });
    await runtime.vault.set('password', 'hunter2hunter2');
    const { evicted, system } = await session.context();
    expect(JSON.stringify({ evicted, system })).not.toContain('hunter2');
    expect(evicted.map(({ name }) => name)).toContain('shell with login [secret password] in turn 1');
    for (const { key, name } of evicted) expect(await session.recall(name)).toEqual(await session.recall(key));
    expect(await session.recall(evicted.at(-1)!.key)).toMatchObject([{ output: 'welcome' }]);
  });
});
