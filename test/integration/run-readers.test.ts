import { randomInt } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Session,
  type SessionEvent,
} from '../../src/index.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const look = defineTool({ name: 'look', input: z.object({ n: z.number() }), effects: 'none', execute: ({ n }) => n });
const calls = [1, 2].map((n) => ({ tool: 'look', input: { n } }));
const script = defineScript({
  name: 'busy',
  everyTurn: true,
  steps: [{ reasoning: 'I look.', calls }, { calls }, { text: 'Done.' }],
});
const agent = defineAgent({ name: 'busy', version: 1, model: script, tools: [look] });
const runs = 8;

/** Reads until the last run has ended, and is disconnected repeatedly: after some events, or while it waits. */
const readBrokenly = async (session: Session, from: number): Promise<readonly SessionEvent[]> => {
  const seen: SessionEvent[] = [];
  const isOver = () => seen.at(-1)?.type === 'run.ended' && seen.at(-1)!.turn === runs;
  while (!isOver()) {
    const after = seen.at(-1)?.seq ?? from;
    const connection = AbortSignal.timeout(randomInt(1, 150));
    let left = randomInt(1, 12);
    for await (const event of session.events({ after, follow: true, signal: connection })) {
      seen.push(event);
      if (--left === 0 || isOver()) break;
    }
  }
  return seen;
};

describe.each(storeKinds)('readers on %s', (kind) => {
  test('[WAKE2] a reader that is disconnected at random while runs proceed sees each event once and in order', async () => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    const open = async () => {
      const runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
      undo.push(() => runtime.close());
      return runtime;
    };
    const [working, reading] = [await open(), await open()];
    const session = await working.sessions.open({ agent });
    const readers = Array.from({ length: 3 }, async () => readBrokenly(await reading.sessions.get(session.id), 0));
    const late = async (): Promise<readonly [number, readonly SessionEvent[]]> => {
      const here = await reading.sessions.get(session.id);
      const { seq } = await here.summary();
      return [seq, await readBrokenly(here, seq)];
    };
    const latecomers: ReturnType<typeof late>[] = [];
    await working.worker().start();
    for (let number = 1; number <= runs; number++) {
      const run = await session.send(`input ${number}`);
      if (randomInt(3) > 0) await run.result();
      if (number % 3 === 1) latecomers.push(late());
    }
    const seen = await Promise.all(readers);
    const log = await Array.fromAsync(session.events());
    expect(log.filter(({ type }) => type === 'run.ended')).toHaveLength(runs);
    for (const events of seen) expect(events).toEqual(log);
    for (const [from, events] of await Promise.all(latecomers)) expect(events).toEqual(log.slice(from));
  });
});
