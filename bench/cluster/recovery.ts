import { setTimeout as pause } from 'node:timers/promises';
import type { Session } from '../../src/index.ts';
import type { Bench } from '../bench-case.ts';
import { type Figure, show } from '../figure.ts';
import { median } from '../statistics.ts';
import { stuckAgent } from '../stuck-agent.ts';
import { jobs, startBoss } from './boss.ts';
import { Program } from './program.ts';
import { onStage, type Stage } from './stage.ts';

/** The shortest heartbeat that pg-boss allows. */
const leaseMs = 10_000;
const lookMs = 50;

const range = (times: readonly number[]): string =>
  `${show(Math.min(...times), 'ms')} to ${show(Math.max(...times), 'ms')}, ${times.length} times`;

const onStuck = <T>(bench: Bench, work: (stage: Stage) => Promise<T>): Promise<T> =>
  onStage(bench, { agents: [stuckAgent] }, work);

/** A session and a process that works on it. */
const hold = async ({ runtime, library, place, data }: Stage) => {
  const program = await Program.start('./hold-run.ts', [library.url, place.address, data, String(leaseMs)]);
  const session = await runtime.sessions.open({ agent: stuckAgent });
  await session.send('Go');
  for await (const { type } of session.events({ follow: true })) if (type === 'tool.called') break;
  return { program, session };
};

/** Starts the processes one after another, so that each claims the session made for it. */
const holdAll = async (stage: Stage, count: number) => {
  const held = [];
  for (let at = 0; at < count; at++) held.push(await hold(stage));
  return held;
};

const continuedAt = async (session: Session): Promise<number> => {
  for await (const event of session.events({ follow: true })) {
    if (event.type === 'run.started' && event.payload.attempt === 2) break;
  }
  return performance.now();
};

/** Measures the recovery after a kill, when other processes on the machine can see that the process is gone. */
const afterKill = async (stage: Stage): Promise<readonly number[]> => {
  const held = await holdAll(stage, stage.quick ? 3 : 5);
  const rescuer = stage.runtime.worker({ concurrency: held.length });
  await rescuer.start();
  const measured: number[] = [];
  for (const { program, session } of held) {
    await pause(300 * Math.random());
    const killed = performance.now();
    const [resumed] = await Promise.all([continuedAt(session), program.end('SIGKILL')]);
    measured.push(resumed - killed);
  }
  await Promise.all(held.map(({ session }) => session.cancel()));
  await rescuer.stop();
  return measured;
};

/**
 * Measures the recovery after a process is stopped. It still exists but sends no heartbeats, so to others it is as
 * dead as a lost machine. A rescuer claims everything that is free, so each process gets its own database and its own
 * phase within the lease.
 */
const afterSilence = async (stage: Stage, phase: number): Promise<number> => {
  const { program, session } = await hold(stage);
  const rescuer = stage.runtime.worker();
  await rescuer.start();
  await pause((leaseMs / 2) * phase);
  const silent = performance.now();
  try {
    program.signal('SIGSTOP');
    return (await continuedAt(session)) - silent;
  } finally {
    await program.end('SIGKILL');
    await session.cancel();
    await rescuer.stop();
  }
};

/** Measures pg-boss at its fastest: supervised every second, and polled continuously for work. */
const ofBoss = async ({ place }: Stage, count: number): Promise<readonly number[]> => {
  const supervision = { supervise: true, superviseIntervalSeconds: 1, monitorIntervalSeconds: 1 };
  const boss = await startBoss(place.address, supervision);
  await boss.createQueue(jobs, { heartbeatSeconds: leaseMs / 1000, retryLimit: 5 });
  const holders: Program<'hold', 'done'>[] = [];
  for (let at = 0; at < count; at++) {
    const program = await Program.start<'hold', 'done'>('./hold-job.ts', [place.address, String(leaseMs)]);
    await boss.send(jobs);
    await program.ask('hold');
    holders.push(program);
    await pause(leaseMs / 3 / count);
  }
  const killed = performance.now();
  await Promise.all(holders.map((program) => program.end('SIGKILL')));
  const measured: number[] = [];
  while (measured.length < count) {
    for (const _ of await boss.fetch(jobs, { batchSize: count })) measured.push(performance.now() - killed);
    await pause(lookMs);
  }
  await boss.stop();
  return measured;
};

const compare = async (stage: Stage): Promise<readonly Figure[]> => {
  const killed = await afterKill(stage);
  const count = stage.quick ? 2 : 4;
  const alone = (at: number) => onStuck(stage, (own) => afterSilence(own, (at + Math.random()) / count));
  const [silent, bare] = await Promise.all([
    Promise.all(Array.from({ length: count }, (_, at) => alone(at))),
    ofBoss(stage, count),
  ]);
  return [
    {
      name: 'from SIGKILL of a worker to its run continuing in another process of the machine',
      value: median(killed),
      unit: 'ms',
      detail: range(killed),
    },
    {
      name: 'from the silence of a worker to its run continuing elsewhere, times its lease',
      value: median(silent) / leaseMs,
      unit: 'x',
      detail: `a lease of ${show(leaseMs, 'ms')}: ${range(silent)}`,
    },
    {
      name: "from SIGKILL to a pg-boss job continuing elsewhere, times the job's heartbeat",
      value: median(bare) / leaseMs,
      unit: 'x',
      detail: `a heartbeat of ${show(leaseMs, 'ms')}: ${range(bare)}`,
    },
  ];
};

export const recovery = (bench: Bench): Promise<readonly Figure[]> => onStuck(bench, compare);
