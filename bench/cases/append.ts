import type { MessageInput, Runtime, Session } from '../../src/index.ts';
import { BareRows } from '../bare-rows.ts';
import type { Bench, BenchCase } from '../bench-case.ts';
import type { BareLoop } from '../engines/engine.ts';
import type { Figure } from '../figure.ts';
import { show } from '../figure.ts';
import { median, sum, timeOf } from '../statistics.ts';
import { oneEvent, oneTurn, realContent } from '../workload.ts';

const target = { atLeast: 60 };
const manySessions = 100;

/** Times of single operations, and of a round of them. */
interface Side {
  readonly operations: number[];
  readonly rounds: number[];
}

interface Measured {
  readonly ours: Side;
  readonly bare: Side;
}

const emptySide = (): Side => ({ operations: [], rounds: [] });

/** Ours and bare take turns, so that a noisy neighbour meets both; the first round warms up and does not count. */
const takeTurns = async (
  rounds: number,
  ours: (side: Side) => Promise<void>,
  bare: (side: Side) => Promise<void>,
): Promise<Measured> => {
  const measured = { ours: emptySide(), bare: emptySide() };
  for (let round = 0; round <= rounds; round++) {
    const into = round === 0 ? { ours: emptySide(), bare: emptySide() } : measured;
    const both = [
      async () => into.ours.rounds.push(await timeOf(() => ours(into.ours))),
      async () => into.bare.rounds.push(await timeOf(() => bare(into.bare))),
    ];
    for (const one of round % 2 === 0 ? both : both.toReversed()) await one();
  }
  return measured;
};

/** Of throughput: the median of what each round gave. */
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

const serial = async (
  name: string,
  { quick }: Bench,
  session: Session,
  bareLoop: BareLoop,
  make: () => readonly MessageInput[],
): Promise<Figure> => {
  const rows = new BareRows();
  const perRound = quick ? 50 : 100;
  const inputs = () => Array.from({ length: perRound }, make);
  let ours = inputs();
  let bare = ours.map((messages) => messages.map((message) => rows.rowOf(name, message)));
  const measured = await takeTurns(
    quick ? 6 : 20,
    async ({ operations }) => {
      for (const messages of ours) operations.push(await timeOf(() => session.append(messages)));
      ours = inputs();
    },
    async ({ operations }) => {
      for (const group of bare) operations.push(await timeOf(() => bareLoop.insert(group)));
      bare = inputs().map((messages) => messages.map((message) => rows.rowOf(name, message)));
    },
  );
  return figureOf(name, measured, perRound);
};

/** Answers of one transaction arrive in one go: counts the goes. */
class Groups {
  appends = 0;
  count = 0;
  #open = false;

  acknowledged(): void {
    this.appends++;
    if (this.#open) return;
    this.count++;
    this.#open = true;
    setImmediate(() => {
      this.#open = false;
    });
  }

  get meanSize(): number {
    return this.appends / this.count;
  }
}

const atOnce = async ({ quick }: Bench, runtime: Runtime, bareLoop: BareLoop): Promise<readonly Figure[]> => {
  const content = realContent();
  const sessions = await Promise.all(Array.from({ length: manySessions }, () => runtime.sessions.open()));
  const names = sessions.map(({ id }) => id);
  const rows = new BareRows();
  const perSession = quick ? 5 : 10;
  const perRound = perSession * manySessions;
  const groups = new Groups();
  let next = { ours: [] as MessageInput[][], bare: [] as ReturnType<BareRows['rowOf']>[] };
  const refill = () => {
    next = {
      ours: sessions.map(() => Array.from({ length: perSession }, () => oneEvent(content))),
      bare: Array.from({ length: perRound }, (_, at) => rows.rowOf(names[at % names.length]!, oneEvent(content))),
    };
  };
  refill();
  const measured = await takeTurns(
    quick ? 6 : 20,
    async ({ operations }) => {
      await Promise.all(
        sessions.map(async (session, at) => {
          for (const message of next.ours[at]!) {
            operations.push(await timeOf(() => session.append(message)));
            groups.acknowledged();
          }
        }),
      );
      next.ours = sessions.map(() => Array.from({ length: perSession }, () => oneEvent(content)));
    },
    async ({ operations }) => {
      const size = Math.round(groups.meanSize) || manySessions;
      for (let at = 0; at < next.bare.length; at += size) {
        operations.push(await timeOf(() => bareLoop.insert(next.bare.slice(at, at + size))));
      }
      next.bare = Array.from({ length: perRound }, (_, at) => rows.rowOf(names[at % names.length]!, oneEvent(content)));
    },
  );
  const size = show(groups.meanSize, '');
  return [figureOf(`${manySessions} sessions at once, 5 kB each`, measured, perRound, `, groups of ${size}`)];
};

export const append: BenchCase = async (bench) => {
  const place = await bench.engine.newPlace();
  const runtime = await bench.library.openRuntime({ store: place.address });
  const content = realContent();
  const bare = await place.openBare();
  bench.progress('append');
  try {
    return [
      await serial('1 event of 5 kB', bench, await runtime.sessions.open(), bare, () => [oneEvent(content)]),
      await serial('a turn of 8 events, 15.2 kB', bench, await runtime.sessions.open(), bare, () => oneTurn(content)),
      ...(await atOnce(bench, runtime, bare)),
    ];
  } finally {
    await bare.close();
    await runtime.close();
    await place.remove();
  }
};
