import type { Runtime, Session } from '../../src/index.ts';
import type { Bench, BenchCase } from '../bench-case.ts';
import type { Place } from '../engines/engine.ts';
import { type Figure, show } from '../figure.ts';
import { median, timeOf } from '../statistics.ts';
import { type Content, realContent } from '../workload.ts';

/** Two states of 100 kB: one of few entries, one of many. */
const shapes = [
  { facts: 200, factBytes: 500 },
  { facts: 1000, factBytes: 100 },
] as const;
type Shape = (typeof shapes)[number];

const files = 100;
const lastTurns = 5;
const rounds = { quick: 60, full: 200 };

const openWithState = async (
  runtime: Runtime,
  content: Content,
  { facts, factBytes }: Shape = shapes[0],
): Promise<Session> => {
  const session = await runtime.sessions.open();
  await session.commit((draft) => {
    for (let fact = 0; fact < facts; fact++) draft.facts[`fact-${fact}`] = content.prose(factBytes);
  });
  return session;
};

/** Measures commits, alternating each with a message of as many bytes. */
const commitCost = async (runtime: Runtime, content: Content, shape: Shape, times: number): Promise<Figure> => {
  const { facts, factBytes } = shape;
  const session = await openWithState(runtime, content, shape);
  const taken = { commit: [] as number[], append: [] as number[] };
  for (let time = 0; time < times; time++) {
    const value = content.prose(factBytes);
    const change = () =>
      session.commit((draft) => {
        draft.facts[`fact-${time % facts}`] = value;
      });
    taken.commit.push(await timeOf(change));
    const [committed] = (await session.commits({ limit: 1 })).commits;
    const { delta, inverse } = committed!;
    const text = JSON.stringify({ delta, inverse });
    taken.append.push(await timeOf(() => session.append({ role: 'user', content: text })));
  }
  const [commit, append] = [median(taken.commit), median(taken.append)];
  return {
    name: `a commit against a plain append of the same bytes, state of ${facts} x ${factBytes} B`,
    value: commit / append,
    unit: 'x',
    target: { atMost: 1.5 },
    detail: `${show(commit, 'ms')} against ${show(append, 'ms')}`,
  };
};

/** Writes turns of a question, an answer, and a changed file. */
const writeTurns = async (session: Session, turns: number): Promise<void> => {
  for (let turn = 1; turn <= turns; turn++) {
    await session.append([
      { role: 'user', content: `Mend part ${turn}.` },
      { role: 'assistant', content: `Part ${turn} is mended.` },
    ]);
    await session.commit((draft) => {
      draft.filesModified[`src/part-${turn % files}.ts`] = { change: 'modified', tool: 'edit', callId: `call_${turn}` };
    });
  }
};

interface Times {
  readonly turns: number;
  readonly query: number;
  readonly diff: number;
}

interface Query {
  readonly session: Session;
  readonly turns: number;
  readonly query: number[];
  readonly diff: number[];
}

const ask = async ({ session, turns, query, diff }: Query, time: number): Promise<void> => {
  const turn = 2 + ((time * 7919) % (turns - 2));
  query.push(await timeOf(() => session.commits({ path: '/filesModified/**', last: { turns: lastTurns } })));
  diff.push(await timeOf(() => session.diff({ turn: turn - 1 }, { turn })));
};

const against = (
  name: string,
  [shortest, longest]: readonly [Times, Times],
  kind: 'query' | 'diff',
  atMost: number,
): Figure => ({
  name: `${name}, ${longest.turns} turns against ${shortest.turns}`,
  value: longest[kind] / shortest[kind],
  unit: 'x',
  target: { atMost },
  detail: `${show(longest[kind], 'ms')} against ${show(shortest[kind], 'ms')}`,
});

/** Queries all sessions in turn, from a runtime that has not written them. */
const measureQuestions = async (bench: Bench, place: Place, content: Content): Promise<readonly Times[]> => {
  const writing = await bench.library.openRuntime({ store: place.address });
  const written: { readonly turns: number; readonly id: Session['id'] }[] = [];
  for (const turns of bench.turns) {
    bench.progress(`state: ${turns} turns`);
    const session = await openWithState(writing, content);
    await writeTurns(session, turns);
    written.push({ turns, id: session.id });
  }
  await writing.close();
  bench.progress('state: questions');
  const runtime = await bench.library.openRuntime({ store: place.address });
  const all: Query[] = [];
  for (const { turns, id } of written) {
    all.push({ session: await runtime.sessions.get(id), turns, query: [], diff: [] });
  }
  for (let time = 0; time < (bench.quick ? rounds.quick : rounds.full); time++) {
    for (const asked of all) await ask(asked, time);
  }
  await runtime.close();
  return all.map(({ turns, query, diff }) => ({ turns, query: median(query), diff: median(diff) }));
};

/** Measures the cost of the typed state, and of queries about it in a long session. */
export const state: BenchCase = async (bench) => {
  const content = realContent();
  const place = await bench.engine.newPlace();
  bench.progress('state: commits');
  const runtime = await bench.library.openRuntime({ store: place.address });
  const commits: Figure[] = [];
  for (const shape of shapes) {
    commits.push(await commitCost(runtime, content, shape, bench.quick ? rounds.quick : rounds.full));
  }
  await runtime.close();
  const all = await measureQuestions(bench, place, content);
  await place.remove();
  const ends = [all[0]!, all.at(-1)!] as const;
  return [
    ...commits,
    against(`files modified in the last ${lastTurns} turns`, ends, 'query', 2),
    against('diff of neighbouring turns', ends, 'diff', 1.5),
  ];
};
