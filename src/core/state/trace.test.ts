import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';

type Op = { readonly op: string; readonly a: number; readonly b: number };

const ops = fc.array(
  fc.record({
    op: fc.constantFrom(
      'ask',
      'answer',
      'call',
      'track',
      'commit',
      'model',
      'fork',
      'rewind',
      'revert',
      'adopt',
      'compact',
    ),
    a: fc.nat(1000),
    b: fc.nat(1000),
  }),
  { minLength: 5, maxLength: 25 },
);

const set = (session: Session, name: string, options: object) =>
  session.commit((draft) => void Object.assign(draft.facts, { [name]: `${Math.random()}` }), options);

/** Does one thing in one of the sessions. Things that are not allowed there are left out. */
const apply = async (sessions: Session[], { op, a, b }: Op): Promise<void> => {
  const session = sessions[a % sessions.length]!;
  const { seq } = await session.summary();
  const name = `f${b % 3}`;
  const callId = `c${b}`;
  switch (op) {
    case 'ask':
      return void (await session.append({ role: 'user', content: `ask ${b}` }));
    case 'answer':
      return void (await session.append({ role: 'assistant', content: `answer ${b}` }));
    case 'call':
      return void (await session.append([
        { role: 'assistant', content: [{ type: 'tool-call', callId, tool: 'look', input: { path: 'a.ts' } }] },
        { role: 'tool', content: [{ type: 'tool-result', callId, tool: 'look', outcome: 'ok', output: 'x' }] },
      ]));
    case 'track': {
      const change = (draft: { facts: Record<string, unknown> }) => void Object.assign(draft.facts, { [name]: b });
      const files = () => ({ 'a.ts': 'modified' as const });
      const look = { effects: 'none', ...(b % 2 ? { change } : { files }) };
      return void (await (
        await session.track({ look: async (_: { path: string }) => b }, { look } as never)
      ).look({ path: 'a.ts' }));
    }
    case 'commit':
      return void (await set(session, name, { derivedFrom: [1 + (b % seq)] }));
    case 'model':
      return void (await set(session, name, { by: 'model' }));
    case 'fork':
      return void (sessions.length < 4 && sessions.push(await session.fork({ at: { seq: 1 + (b % seq) } })));
    case 'rewind':
      return void (await session.rewind({ to: { seq: 1 + (b % seq) } }));
    case 'revert': {
      const { commits } = await session.commits();
      return void (commits.length > 0 && (await session.revert(commits[b % commits.length]!.seq)));
    }
    case 'adopt':
      return void (await session.adopt(sessions[b % sessions.length]!, { onConflict: 'theirs' }));
    default:
      return void (await session.compact({ keepTurns: 1, summarize: async () => 'short' }));
  }
};

const idOf = ({ session, seq }: SessionEvent) => `${session}/${seq}`;

/** The events that the session's rewinds did not leave behind. */
const liveEvents = async (session: Session): Promise<readonly SessionEvent[]> => {
  const liveAt = new Map<number, readonly SessionEvent[]>();
  let live: readonly SessionEvent[] = [];
  for await (const event of session.events()) {
    live = [...(event.type === 'session.rewound' ? liveAt.get(event.payload.to)! : live), event];
    liveAt.set(event.seq, live);
  }
  return live;
};

test('[TRACE2] in random families of sessions, every edge names events, leads back in time, and is found both ways', async () => {
  await fc.assert(
    fc.asyncProperty(ops, async (all) => {
      const runtime = await openRuntime({ store: openMemoryStore(), worker: false });
      const sessions: Session[] = [await runtime.sessions.open()];
      for (const op of all) {
        try {
          await apply(sessions, op);
        } catch (error) {
          if (!isPerdureError(error)) throw error;
        }
      }
      const events = new Map<string, number>();
      const live = new Set<string>();
      const [back, forward] = [new Set<string>(), new Set<string>()];
      for (const session of sessions) {
        for await (const event of session.events()) events.set(idOf(event), event.at);
        for (const event of await liveEvents(session)) live.add(idOf(event));
      }
      const options = { limit: 1000, depth: 100 };
      for (const session of sessions) {
        const { seq } = await session.summary();
        for (let each = 1; each <= seq; each++) {
          const behind = await session.trace(`seq:${each}`, { ...options, direction: 'back' });
          const ahead = await session.trace(`seq:${each}`, { ...options, direction: 'forward' });
          expect([behind.isComplete, ahead.isComplete]).toEqual([true, true]);
          for (const { from, to } of [...behind.edges, ...ahead.edges]) {
            expect(events.get(from)).toBeGreaterThanOrEqual(events.get(to)!);
            const [[one, later], [other, earlier]] = [from.split('/'), to.split('/')];
            if (one === other) expect(Number(later)).toBeGreaterThan(Number(earlier));
          }
          // Forward, only what is still live counts, and a message that repeats a result only if something rests on it.
          for (const { from, reason, to } of behind.edges) {
            if (live.has(from) && reason !== 'cause') back.add(`${from} ${reason} ${to}`);
          }
          for (const { from, reason, to } of ahead.edges) {
            if (reason !== 'cause') forward.add(`${from} ${reason} ${to}`);
          }
        }
      }
      expect([...forward].sort()).toEqual([...back].sort());
      await runtime.close();
    }),
    { numRuns: 30 },
  );
});
