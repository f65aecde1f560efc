import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { stepCountIs, streamText, tool } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { z } from 'zod';
import type { Runtime } from '../../src/index.ts';
import { BareRows } from '../bare-rows.ts';
import type { Bench, BenchCase } from '../bench-case.ts';
import type { BareLoop } from '../engines/engine.ts';
import { type Figure, show } from '../figure.ts';
import { median, timeOf } from '../statistics.ts';
import { streamedAnswer } from './stream.ts';

const steps = 20;
/**
 * Number of events that one step writes: model call, its end, its message, tool call, its outcome, its message, its
 * commit.
 */
const eventsPerStep = 7;

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** A model that answers immediately: this many tool calls, then a text. */
const instantModel = () => {
  let answers = 0;
  return new MockLanguageModelV4({
    provider: 'bench',
    modelId: 'instant',
    doStream: async () => {
      const isLast = ++answers % steps === 0;
      const content = isLast
        ? [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'Done.' },
            { type: 'text-end', id: '1' },
          ]
        : [{ type: 'tool-call', toolCallId: `call_${answers}`, toolName: 'noop', input: '{}' }];
      const finishReason = { unified: isLast ? 'stop' : 'tool-calls', raw: undefined };
      const chunks = [{ type: 'stream-start', warnings: [] }, ...content, { type: 'finish', finishReason, usage }];
      return {
        stream: simulateReadableStream({ chunks: chunks as never[], initialDelayInMs: null, chunkDelayInMs: null }),
      };
    },
  });
};

const bareTurn = async (model: MockLanguageModelV4, loop: BareLoop, rows: BareRows, session: string): Promise<void> => {
  const noop = tool({ inputSchema: z.object({}), execute: () => 'ok' });
  const result = streamText({ model, tools: { noop }, stopWhen: stepCountIs(steps + 1), prompt: 'Go' });
  for await (const { type } of result.fullStream) {
    if (type !== 'finish-step') continue;
    for (let event = 0; event < eventsPerStep; event++) {
      await loop.insert([rows.rowOf(session, { role: 'assistant', content: 'x'.repeat(200) })]);
    }
  }
};

const overhead = async (bench: Bench): Promise<Figure> => {
  const place = await bench.engine.newPlace();
  const { defineAgent, defineTool, openRuntime } = bench.library;
  const noop = defineTool({ name: 'noop', input: z.object({}), effects: 'none', execute: () => 'ok' });
  const agent = defineAgent({ name: 'bench', version: 1, model: instantModel(), tools: [noop] });
  const runtime: Runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
  await runtime.worker().start();
  const bare = await place.openBare();
  const rows = new BareRows();
  const model = instantModel();
  const times = { ours: [] as number[], bare: [] as number[] };
  const rounds = bench.quick ? 5 : 15;
  for (let round = -2; round < rounds; round++) {
    const session = await runtime.sessions.open({ agent });
    const ours = await timeOf(async () => (await session.send('Go')).waitForEnd());
    const theirs = await timeOf(() => bareTurn(model, bare, rows, `ses_${round + 2}`));
    if (round < 0) continue;
    times.ours.push(ours / steps);
    times.bare.push(theirs / steps);
  }
  await bare.close();
  await runtime.close();
  await place.remove();
  const [ours, theirs] = [median(times.ours), median(times.bare)];
  return {
    name: 'a step of a run against the bare loop of the AI SDK with one durable insert per event',
    value: ours / theirs,
    unit: 'x',
    target: { atMost: 2 },
    detail: `${show(ours, 'ms')} against ${show(theirs, 'ms')} a step, ${eventsPerStep} events each`,
  };
};

const start = async (address: string): Promise<ChildProcess> => {
  const child = fork(new URL('../run-worker.ts', import.meta.url), [address], { stdio: 'ignore' });
  await once(child, 'message');
  return child;
};

/**
 * The time from the kill of a worker process to the next event of another worker, on this machine with default
 * settings.
 */
const takeover = async (bench: Bench): Promise<Figure> => {
  const place = await bench.engine.newPlace();
  const { openRuntime } = bench.library;
  const { stuckAgent } = await import('../stuck-agent.ts');
  const runtime: Runtime = await openRuntime({ store: place.address, agents: [stuckAgent], worker: false });
  const times: number[] = [];
  for (let round = 0; round < (bench.quick ? 2 : 5); round++) {
    const child = await start(place.address);
    const session = await runtime.sessions.open({ agent: stuckAgent });
    await session.send('Go');
    const events = session.events({ follow: true });
    for await (const { type } of events) if (type === 'tool.called') break;
    const worker = runtime.worker();
    await worker.start();
    await pause(300);
    const killedAt = performance.now();
    child.kill('SIGKILL');
    for await (const event of session.events({ follow: true })) {
      if (event.type === 'run.started' && event.payload.attempt === 2) break;
    }
    times.push(performance.now() - killedAt);
    await session.cancel();
    await worker.stop();
  }
  await runtime.close();
  await place.remove();
  return { name: 'from SIGKILL of a worker to its run continuing elsewhere', value: median(times), unit: 'ms' };
};

export const runs: BenchCase = async (bench) => {
  bench.progress('runs');
  return [await overhead(bench), await streamedAnswer(bench), await takeover(bench)];
};
