import { randomUUID } from 'node:crypto';
import type { Agent, Run } from '../../src/index.ts';
import type { Bench } from '../bench-case.ts';
import { type Figure, show } from '../figure.ts';
import { median, timeOf } from '../statistics.ts';
import { jobs, startBoss } from './boss.ts';
import { noopAgent } from './noop-agent.ts';
import { Program } from './program.ts';
import { readRunRows } from './run-rows.ts';
import { onStage, type Stage } from './stage.ts';

type Programs = readonly Program<'work', 'done'>[];

const processes = [1, 2] as const;
const warmUpRounds = 1;

const startAll = (file: string, args: readonly string[]): Promise<Programs> =>
  Promise.all(Array.from({ length: Math.max(...processes) }, () => Program.start<'work', 'done'>(file, args)));

const workAll = (programs: Programs): Promise<number> =>
  timeOf(() => Promise.all(programs.map((program) => program.ask('work'))));

const admit = async ({ runtime }: Stage, agent: Agent, count: number): Promise<readonly Run[]> => {
  const sessions = await Promise.all(Array.from({ length: count }, () => runtime.sessions.open({ agent })));
  return Promise.all(sessions.map((session) => session.send('Go')));
};

const assertSucceeded = async (runs: readonly Run[]): Promise<void> => {
  const all = await Promise.all(runs.map((run) => run.status()));
  const other = all.find(({ status }) => status !== 'succeeded');
  if (other) throw new Error(`expected every run to succeed, but one ended as ${other.status}`);
};

const compare = async (stage: Stage, agent: Agent): Promise<readonly Figure[]> => {
  const { quick, place, library, data } = stage;
  const count = quick ? 40 : 60;
  const rounds = quick ? 3 : 5;
  const bare = await place.openBare();
  const boss = await startBoss(place.address);
  await boss.createQueue(jobs);
  const ours = await startAll('./work-runs.ts', [library.url, place.address, data]);
  const [first] = await admit(stage, agent, 1);
  await workAll(ours.slice(0, 1));
  const theirs = await startAll('./work-jobs.ts', [place.address, first!.session]);
  const workOurs = async (programs: number): Promise<number> => {
    const runs = await admit(stage, agent, count);
    const ms = await workAll(ours.slice(0, programs));
    await assertSucceeded(runs);
    return ms;
  };
  const workTheirs = async (programs: number): Promise<number> => {
    await boss.insert(
      jobs,
      Array.from({ length: count }, () => ({ data: { session: `ses_${randomUUID()}` } })),
    );
    return workAll(theirs.slice(0, programs));
  };
  const times = processes.map(() => ({ ours: [] as number[], bare: [] as number[] }));
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const [at, programs] of processes.entries()) {
      const measured = { ours: await workOurs(programs), bare: await workTheirs(programs) };
      if (round < 0) continue;
      times[at]!.ours.push(measured.ours);
      times[at]!.bare.push(measured.bare);
    }
  }
  const run = await readRunRows(place.address, first!.session);
  await Promise.all([...ours, ...theirs].map((program) => program.end()));
  await boss.stop();
  await bare.close();
  const rate = (all: readonly number[]) => show((1000 * count) / median(all), '/s');
  return processes.map((programs, at) => {
    const { ours: own, bare: other } = times[at]!;
    return {
      name: `runs of ${programs === 1 ? 'one worker process' : `${programs} worker processes`}, share of a bare pg-boss job`,
      value: 100 * median(own.map((ms, round) => other[round]! / ms)),
      unit: '%',
      detail: `${rate(own)} against ${rate(other)}; ${run.flat().length} events in ${run.length} transactions each`,
    };
  });
};

/**
 * Measures how fast workers complete all waiting runs, compared with pg-boss jobs that insert the rows of such a run
 * in the same number of transactions.
 */
export const throughput = (bench: Bench): Promise<readonly Figure[]> => {
  const agent = noopAgent(bench.library);
  return onStage(bench, { agents: [agent] }, (stage) => compare(stage, agent));
};
