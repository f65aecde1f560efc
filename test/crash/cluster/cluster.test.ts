import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { openRuntime } from '../../../src/index.ts';
import { createOnlyDatabase, startPostgres } from '../../support/postgres/start-postgres.ts';
import { freePort } from '../../support/servers/free-port.ts';
import { ClusterAudit } from './audit-cluster.ts';
import { clusterAgent } from './cluster-agent.ts';
import { newServer, newWorker } from './cluster-process.ts';
import { Disturber, disturbancesOf } from './disturbances.ts';
import { SeededRandom } from './seeded-random.ts';
import { Conversation } from './traffic.ts';

const isSoak = Number(process.env.PERDURE_KILLS) >= 500;
const sessions = isSoak ? 300 : 100;
const turns = 3;
const rounds = isSoak ? 3 : 1;
const leaseMs = 3000;
const workspaces = ['north', 'south', 'west'];
/** How long to wait without any progress while runs are still open. */
const patienceMs = 60_000;

/** Counts ended runs and lets callers wait for more. */
class Progress {
  ended = 0;
  #listeners = new Set<() => void>();

  readonly count = (): void => {
    this.ended++;
    for (const listener of this.#listeners) listener();
  };

  /** Returns false when no run ended within `patienceMs`. */
  async reach(wanted: number): Promise<boolean> {
    while (this.ended < wanted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#listeners.add(resolve);
      const isNews = await Promise.race([promise.then(() => true), sleep(patienceMs, false, { ref: false })]);
      this.#listeners.delete(resolve);
      if (!isNews) return false;
    }
    return true;
  }
}

const atOnce = 10;

/** Works on a few items at a time, because a store has few connections. */
const inTurns = async <T, Result>(items: readonly T[], work: (item: T) => Promise<Result>): Promise<Result[]> => {
  const results: Result[] = [];
  while (results.length < items.length) {
    results.push(...(await Promise.all(items.slice(results.length, results.length + atOnce).map(work))));
  }
  return results;
};

const startCluster = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-cluster-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const postgres = await startPostgres();
  onTestFinished(() => postgres.close());
  const store = await createOnlyDatabase(postgres);
  const open = () =>
    openRuntime({ store, agents: [clusterAgent(folder)], worker: false, data: join(folder, 'auditor') });
  const runtime = await open();
  const keys: string[] = [];
  for (const workspace of workspaces) {
    await runtime.workspaces.add(workspace);
    const admin = runtime.as({ workspace, member: 'local', role: 'admin' });
    await admin.members.add({ id: 'local', role: 'admin' });
    keys.push((await admin.keys.create({ member: 'local', role: 'admin' })).token);
  }
  await runtime.close();
  const ports = [await freePort(), await freePort()];
  const servers = ports.map((port, index) => newServer(`server ${index + 1}`, { cwd: folder, store, port }));
  const workers = [1, 2, 3].map((number) =>
    newWorker(`worker ${number}`, {
      cwd: folder,
      store,
      data: join(folder, `machine-${number}`),
      leaseMs,
    }),
  );
  const processes = [...servers, ...workers];
  onTestFinished(async () => void (await Promise.all(processes.map((each) => each.kill()))));
  await Promise.all(processes.map((each) => each.start()));
  const clientsOf = (index: number) =>
    ports.map((port) => connect({ url: `http://127.0.0.1:${port}`, key: keys[index]! }));
  return {
    folder,
    open,
    postgres,
    servers,
    workers,
    processes,
    leaseMs,
    clients: workspaces.map((_, i) => clientsOf(i)),
  };
};

const untilReadersStandAt = async (conversation: Conversation, seq: number): Promise<void> => {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline && conversation.readers.some((reader) => reader.last < seq && !reader.failed)) {
    await sleep(20);
  }
  await Promise.all(conversation.readers.map((reader) => reader.leave()));
};

test('[RUN10, WR1, LOG2, KEY1, CLIENT4, WAKE2] three workers and two servers on PostgreSQL, all failing repeatedly, finish every run, and followers see every event once', async () => {
  const seed = Number(process.env.PERDURE_SEED ?? randomInt(2 ** 31));
  const random = new SeededRandom(seed);
  console.log(`cluster: seed ${seed}`);
  const cluster = await startCluster();
  const started = performance.now();
  const progress = new Progress();
  const conversations = await inTurns([...Array(sessions).keys()], (index) => {
    const at = index % workspaces.length;
    return Conversation.open(workspaces[at]!, cluster.clients[at]!, index % 4 === 0, progress.count);
  });
  const inputs = Array.from({ length: turns }, (_, turn) =>
    random.shuffled(conversations).map((conversation) => ({ conversation, turn: turn + 1 })),
  ).flat();

  const disturber = new Disturber(cluster, random);
  const disturbances = disturbancesOf(rounds, random);
  const sending: Promise<void>[] = [];
  const unsent: string[] = [];
  for (const [stage, disturbance] of disturbances.entries()) {
    const share = (at: number) => Math.round((at * inputs.length) / disturbances.length);
    const now = inputs.slice(share(stage), share(stage + 1));
    for (const { conversation, turn } of now) {
      const how = { first: random.int(0, 2), repeats: random.next() < 0.3 };
      const refused = (error: unknown) =>
        void unsent.push(`${conversation.id}: turn ${turn} was not accepted: ${error}`);
      sending.push(conversation.send(turn, how).catch(refused));
    }
    const amid = progress.ended + random.int(0, Math.ceil(now.length / 2));
    if (!(await progress.reach(amid))) break;
    await disturber.do(disturbance);
  }
  await disturber.end();
  await Promise.all(sending);
  await progress.reach(inputs.length);
  const seconds = Math.round((performance.now() - started) / 1000);
  await Promise.all(cluster.workers.map((worker) => worker.stop()));

  const audit = new ClusterAudit(cluster.folder);
  const runtime = await cluster.open();
  const scoped = (workspace: string) => runtime.as({ workspace, member: 'local', role: 'admin' });
  await inTurns(conversations, async (conversation) => {
    const { seq } = await (await scoped(conversation.workspace).sessions.get(conversation.id)).summary();
    await untilReadersStandAt(conversation, seq);
    await audit.look(scoped(conversation.workspace), conversation);
  });
  await runtime.close();
  const { events, runs, takenOver, interrupted, refused } = audit.figures;
  const again = conversations.reduce((sum, each) => sum + each.again, 0);
  console.log(
    `cluster: ${disturbances.length} disturbances in ${seconds} s; ${sessions} sessions, ${runs} runs, ${takenOver} of them taken over, ${events} events; ${refused} late writes rejected, ${interrupted} calls interrupted, ${again} inputs resent`,
  );
  expect([...unsent, ...audit.problems, ...cluster.processes.flatMap(({ problems }) => problems)]).toEqual([]);
  expect(runs).toBe(inputs.length);
  expect(takenOver, 'runs that another worker took over').toBeGreaterThan(0);
});
