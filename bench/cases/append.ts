import { randomUUID } from 'node:crypto';
import type { MessageInput, Runtime, Session } from '../../src/index.ts';
import { BareRows } from '../bare-rows.ts';
import type { Bench, BenchCase } from '../bench-case.ts';
import type { BareLoop, BareRow, Place } from '../engines/engine.ts';
import type { Figure } from '../figure.ts';
import { show } from '../figure.ts';
import { median, sum, timeOf } from '../statistics.ts';
import { oneEvent, oneTurn, realContent } from '../workload.ts';

const target = { atLeast: 60 };
const manyWriters = (quick: boolean) => ({ writers: 100, perWriter: quick ? 5 : 10, rounds: quick ? 6 : 20 });
const warmUpRounds = 3;

/** Times of single operations and of whole rounds. */
interface Side {
  readonly operations: number[];
  readonly rounds: number[];
}

interface Measured {
  readonly ours: Side;
  readonly bare: Side;
}

/** The baseline to compare with. */
interface Against {
  readonly place: Place;
  readonly bare: BareLoop;
}

const emptySide = (): Side => ({ operations: [], rounds: [] });

/** Prepares a round and returns the work to time. */
type Round = (side: Side) => () => Promise<void>;

/**
 * Runs rounds of our store and of the bare loop alternately, so that noise affects both. The first rounds are a
 * warm-up and are not measured.
 */
const takeTurns = async (rounds: number, ours: Round, bare: Round): Promise<Measured> => {
  const measured = { ours: emptySide(), bare: emptySide() };
  for (let round = -warmUpRounds; round < rounds; round++) {
    const into = round < 0 ? { ours: emptySide(), bare: emptySide() } : measured;
    const both = [
      { work: ours(into.ours), times: into.ours.rounds },
      { work: bare(into.bare), times: into.bare.rounds },
    ];
    for (const { work, times } of round % 2 === 0 ? both : both.toReversed()) times.push(await timeOf(work));
  }
  return measured;
};

/** Our throughput as a percentage of that of the bare loop: the median over the rounds. */
const shareOf = ({ ours, bare }: Measured): number =>
  100 * median(ours.rounds.map((time, round) => bare.rounds[round]! / time));

const figureOf = (name: string, measured: Measured, perRound: number, extra = ''): Figure => {
  const { ours, bare } = measured;
  const rate = ({ rounds }: Side) => show((1000 * perRound * rounds.length) / sum(rounds), '/s');
  const middle = ({ operations }: Side) => show(median(operations), 'ms');
  return {
    name: `${name}, share of the bare loop`,
    value: shareOf(measured),
    unit: '%',
    target,
    detail: `p50 ${middle(ours)} against ${middle(bare)}, ${rate(ours)} against ${rate(bare)}${extra}`,
  };
};

/** Runs operations one after another, each after the previous one has finished. */
const oneByOne =
  <Input>(perRound: number, make: () => Input, operation: (input: Input) => Promise<unknown> | unknown): Round =>
  ({ operations }) => {
    const inputs = Array.from({ length: perRound }, make);
    return async () => {
      for (const input of inputs) operations.push(await timeOf(() => operation(input)));
    };
  };

const insertsInto = (loop: BareLoop, perRound: number, make: () => readonly MessageInput[]): Round => {
  const rows = new BareRows();
  const session = `ses_${randomUUID()}`;
  return oneByOne(
    perRound,
    () => make().map((message) => rows.rowOf(session, message)),
    (group) => loop.insert(group),
  );
};

/** A round of the bare loop that also prepares the rows within the measured time. */
const makesInto = (loop: BareLoop, perRound: number, make: () => readonly MessageInput[]): Round => {
  const rows = new BareRows();
  const session = `ses_${randomUUID()}`;
  return oneByOne(perRound, make, (messages) =>
    loop.insert(rows.makeAll(messages.map((message) => ({ session, message })))),
  );
};

const withoutTarget = ({ target: _, ...figure }: Figure): Figure => figure;

/**
 * Upper bounds for our store: the throughput of the bare loop if it also prepares its rows, and if a thread prepares
 * them. A thread keeps the event loop free.
 */
const limits = async (
  name: string,
  perRound: number,
  rounds: number,
  { place, bare }: Against,
  make: () => readonly MessageInput[],
): Promise<readonly Figure[]> => {
  const figure = async (what: string, ours: Round): Promise<Figure> => {
    const measured = await takeTurns(rounds, ours, insertsInto(bare, perRound, make));
    return withoutTarget(figureOf(`${what}, ${name}`, measured, perRound));
  };
  const making = await figure('a loop that makes its rows', makesInto(bare, perRound, make));
  const threaded = await place.openBehindThread?.();
  if (!threaded) return [making];
  const behind = await figure('the bare loop behind a thread', insertsInto(threaded, perRound, make));
  const both = await figure('a loop that makes its rows behind a thread', makesInto(threaded, perRound, make));
  await threaded.close();
  return [making, behind, both];
};

const serial = async (
  name: string,
  { quick }: Bench,
  session: Session,
  against: Against,
  make: () => readonly MessageInput[],
): Promise<readonly Figure[]> => {
  const perRound = quick ? 50 : 100;
  const rounds = quick ? 6 : 20;
  const ours = oneByOne(perRound, make, (messages) => session.append(messages));
  const measured = await takeTurns(rounds, ours, insertsInto(against.bare, perRound, make));
  return [figureOf(name, measured, perRound), ...(await limits(name, perRound, rounds, against, make))];
};

/** Measures concurrent appends. Each session has its own writer, which appends one event after another. */
export const atOnce = async (
  runtime: Runtime,
  { place, bare: bareLoop }: Against,
  { writers, perWriter, rounds }: { readonly writers: number; readonly perWriter: number; readonly rounds: number },
): Promise<readonly Figure[]> => {
  const content = realContent();
  const sessions = await Promise.all(Array.from({ length: writers }, () => runtime.sessions.open()));
  const names = sessions.map(({ id }) => id);
  const rows = new BareRows();
  const perRound = perWriter * writers;
  const ours: Round = ({ operations }) => {
    const inputs = sessions.map(() => Array.from({ length: perWriter }, () => oneEvent(content)));
    const appendAll = async (session: Session, at: number): Promise<void> => {
      for (const message of inputs[at]!) {
        operations.push(await timeOf(() => session.append(message)));
      }
    };
    return async () => {
      await Promise.all(sessions.map(appendAll));
    };
  };
  const warmUp = async (): Promise<void> => {
    for (let round = 0; round < warmUpRounds; round++) await ours(emptySide())();
  };
  // Measure the group size after the code is compiled, so that the bare loop groups as many rows as ours does.
  await warmUp();
  const groups = await place.openGroupSizes(names);
  await warmUp();
  const size = Math.round(await groups.mean());
  const inGroups =
    <Input>(make: (session: string) => Input, rowsOf: (group: readonly Input[]) => readonly BareRow[]): Round =>
    ({ operations }) => {
      const inputs = Array.from({ length: perRound }, (_, at) => make(names[at % names.length]!));
      return async () => {
        for (let at = 0; at < inputs.length; at += size) {
          const group = inputs.slice(at, at + size);
          operations.push(await timeOf(() => bareLoop.insert(rowsOf(group))));
        }
      };
    };
  const bare = inGroups(
    (session) => rows.rowOf(session, oneEvent(content)),
    (group) => group,
  );
  const makes = inGroups(
    (session) => ({ session, message: oneEvent(content) }),
    (group) => rows.makeAll(group),
  );
  const measured = await takeTurns(rounds, ours, bare);
  const making = await takeTurns(rounds, makes, bare);
  const name = `${writers === 1 ? 'one session' : `${writers} sessions at once`}, 5 kB each`;
  const mean = await groups.mean();
  await groups.close();
  return [
    figureOf(name, measured, perRound, `, groups of ${show(mean, '')}, the bare ones of ${size}`),
    withoutTarget(figureOf(`a loop that makes its rows, ${name}`, making, perRound)),
  ];
};

export const append: BenchCase = async (bench) => {
  const place = await bench.engine.newPlace();
  const runtime = await bench.library.openRuntime({ store: place.address });
  const content = realContent();
  const bare = await place.openBare();
  bench.progress('append');
  try {
    const against = { place, bare };
    return [
      ...(await serial('1 event of 5 kB', bench, await runtime.sessions.open(), against, () => [oneEvent(content)])),
      ...(await serial('a turn of 8 events, 15.2 kB', bench, await runtime.sessions.open(), against, () =>
        oneTurn(content),
      )),
      ...(await atOnce(runtime, against, manyWriters(bench.quick))),
    ];
  } finally {
    await bare.close();
    await runtime.close();
    await place.remove();
  }
};
