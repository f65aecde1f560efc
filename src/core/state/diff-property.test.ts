import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { MessageInput } from '../../schema/message.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';
import type { Matched } from '../session/diff/compare-sides.ts';

type Action =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: string; readonly input: number; readonly output: string }
  | { readonly kind: 'commit'; readonly fact: string; readonly value: number };

const word = fc.constantFrom('a', 'b', 'c');
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant('say' as const), text: word }),
  fc.record({ kind: fc.constant('call' as const), tool: word, input: fc.nat({ max: 1 }), output: word }),
  fc.record({ kind: fc.constant('commit' as const), fact: word, value: fc.nat({ max: 2 }) }),
);
const actions = fc.array(action, { maxLength: 8 });

let calls = 0;
const messagesOf = ({ tool, input, output }: Extract<Action, { kind: 'call' }>): readonly MessageInput[] => {
  const callId = `call_${++calls}`;
  return [
    { role: 'assistant', content: [{ type: 'tool-call', callId, tool, input }] },
    { role: 'tool', content: [{ type: 'tool-result', callId, tool, outcome: 'ok', output }] },
  ];
};

const play = async (session: Session, played: readonly Action[]): Promise<void> => {
  await session.append({ role: 'user', content: 'go' });
  for (const each of played) {
    if (each.kind === 'say') await session.append({ role: 'assistant', content: each.text });
    else if (each.kind === 'call') await session.append(messagesOf(each));
    else await session.commit((draft) => Object.assign(draft.facts, { [each.fact]: each.value }));
  }
};

const branches = async (ours: readonly Action[], theirs: readonly Action[], before: readonly Action[] = []) => {
  const runtime = await openRuntime({ store: openMemoryStore(), worker: false });
  const session = await runtime.sessions.open();
  const [a, b] = [await session.fork(), await session.fork()];
  for (const [branch, played] of [
    [a, ours],
    [b, theirs],
  ] as const) {
    if (before.length > 0) await play(branch, before);
    await play(branch, played);
  }
  return { a, b, close: () => runtime.close() };
};

const between = (a: Session, b: Session) => a.diff({ session: a.id }, { session: b.id });

/** The seqs that a diff names of one side, besides those that both sides share. */
const named = (items: readonly Matched<{ readonly seq: number }>[], side: 'before' | 'after'): ReadonlySet<number> =>
  new Set(items.filter(({ match }) => match !== 'same').flatMap((item) => item[side]?.seq ?? []));

/** The messages and the commits that a diff does not name of one side. They must be the same on the other. */
const unnamed = async (session: Session, diff: Awaited<ReturnType<typeof between>>, side: 'before' | 'after') => {
  const events = (await Array.fromAsync(session.events())).filter(({ seq }) => seq > diff.common);
  const [messages, commits] = [named(diff.messages, side), named(diff.committed, side)];
  return {
    messages: events.flatMap(({ seq, type, payload }) => {
      if (type !== 'message.appended' || payload.message.role === 'tool' || messages.has(seq)) return [];
      const { role, content } = payload.message;
      return [[role, ...content.map((part) => (part.type === 'tool-call' ? [part.tool, part.input] : part))]];
    }),
    commits: events.flatMap(({ seq, type, payload }) =>
      type === 'state.committed' && !commits.has(seq) ? [payload.delta] : [],
    ),
  };
};

/** What actions leave in the log, apart from how messages and commits alternate. A commit of nothing new leaves nothing. */
const effectOf = (played: readonly Action[]): string => {
  const facts = new Map<string, number>();
  const commits = played.filter((each) => {
    if (each.kind !== 'commit' || facts.get(each.fact) === each.value) return false;
    return facts.set(each.fact, each.value);
  });
  return JSON.stringify([played.filter(({ kind }) => kind !== 'commit'), commits]);
};

test('[DIFF7] a diff names every message, call and commit by which two branches differ', async () => {
  await fc.assert(
    fc.asyncProperty(actions, actions, async (ours, theirs) => {
      const { a, b, close } = await branches(ours, theirs);
      const diff = await between(a, b);
      expect(await unnamed(a, diff, 'before')).toEqual(await unnamed(b, diff, 'after'));
      const made = (played: readonly Action[]) => played.flatMap((each) => (each.kind === 'call' ? each.tool : []));
      expect(diff.calls.flatMap(({ before }) => before?.tool ?? [])).toEqual(made(ours));
      expect(diff.calls.flatMap(({ after }) => after?.tool ?? [])).toEqual(made(theirs));
      for (const { match, before, after } of diff.calls) {
        const isSame =
          before?.tool === after?.tool && before?.input === after?.input && before?.output === after?.output;
        expect(match === 'same').toBe(isSame);
      }
      if (effectOf(ours) !== effectOf(theirs)) {
        expect(diff).toMatchObject({ same: false, headline: expect.not.stringMatching(/^(no difference)?$/) });
      }
      await close();
    }),
    { numRuns: 40 },
  );
});

test('[DIFF7] a diff of a place with itself is empty', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (played) => {
      const { a, close } = await branches(played, []);
      expect(await between(a, a)).toMatchObject({
        same: true,
        headline: 'no difference',
        messages: [],
        calls: [],
        committed: [],
        files: [],
        patch: [],
      });
      await close();
    }),
    { numRuns: 15 },
  );
});

test('[DIFF6] the same unrelated turn before both sides changes nothing about how calls are aligned', async () => {
  const brief = (items: readonly Matched<{ readonly tool: string; readonly input?: string | undefined }>[]) =>
    items.map(({ match, before, after }) => [match, before?.tool, before?.input, after?.tool, after?.input]);
  await fc.assert(
    fc.asyncProperty(actions, actions, actions, async (ours, theirs, unrelated) => {
      const [plain, later] = [await branches(ours, theirs), await branches(ours, theirs, unrelated)];
      const alone = await between(plain.a, plain.b);
      const behind = await between(later.a, later.b);
      const shared = behind.calls.length - alone.calls.length;
      expect(behind.calls.slice(0, shared).every(({ match }) => match === 'same')).toBe(true);
      expect(brief(behind.calls.slice(shared))).toEqual(brief(alone.calls));
      await Promise.all([plain.close(), later.close()]);
    }),
    { numRuns: 20 },
  );
});

test('[DIFF11] of a side with too many events, the newest are compared and the others are counted', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), worker: false });
  const session = await runtime.sessions.open();
  for (let batch = 0; batch < 21; batch++) {
    await session.append(Array.from({ length: 1000 }, (_, n) => ({ role: 'user' as const, content: `${batch} ${n}` })));
  }
  const diff = await session.diff({ seq: 1 }, { session: session.id }, { limit: 1 });
  expect(diff).toMatchObject({
    same: false,
    unread: { before: 0, after: 1000 },
    counts: { messages: 20_000 },
    messages: [{ after: { text: '1 0' } }],
  });
  await runtime.close();
});
