import { setTimeout as sleep } from 'node:timers/promises';
import { askPostgres } from '../../support/postgres/ask-postgres.ts';
import type { PostgresServer } from '../../support/postgres/start-postgres.ts';
import type { ClusterProcess } from './cluster-process.ts';
import type { SeededRandom } from './seeded-random.ts';

export interface Cluster {
  readonly postgres: PostgresServer;
  readonly workers: readonly ClusterProcess[];
  readonly servers: readonly ClusterProcess[];
  readonly leaseMs: number;
}

/** How often each disturbance happens in one round. */
const round = {
  'a worker is killed': 4,
  'a worker sleeps past its lease': 3,
  'a server is killed': 2,
  'PostgreSQL is restarted': 1,
  'PostgreSQL is killed': 1,
  'all connections are cut': 2,
  'some connections are cut': 1,
} as const;
export type Disturbance = keyof typeof round;

export const disturbancesOf = (rounds: number, random: SeededRandom): readonly Disturbance[] =>
  random.shuffled(
    Object.entries(round).flatMap(([kind, times]) => Array<Disturbance>(times * rounds).fill(kind as Disturbance)),
  );

/**
 * Disturbs a cluster in ways that happen in production, one at a time. Only a worker that is put to sleep stays
 * disturbed while other disturbances happen.
 */
export class Disturber {
  readonly #cluster: Cluster;
  readonly #random: SeededRandom;
  #asleep: ClusterProcess | undefined;
  #waking: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, random: SeededRandom) {
    this.#cluster = cluster;
    this.#random = random;
  }

  async do(kind: Disturbance): Promise<void> {
    const { postgres, servers } = this.#cluster;
    switch (kind) {
      case 'a worker is killed':
        return this.#replace(this.#awakeWorker());
      case 'a worker sleeps past its lease':
        await this.#waking;
        this.#waking = this.#sleep(this.#awakeWorker());
        return;
      case 'a server is killed':
        return this.#replace(this.#oneOf(servers));
      case 'PostgreSQL is restarted':
        await postgres.stop();
        return postgres.start();
      case 'PostgreSQL is killed':
        await postgres.kill();
        return postgres.start();
      case 'all connections are cut':
        return this.#cut(1);
      case 'some connections are cut':
        return this.#cut(0.5);
    }
  }

  /** Resolves when all workers are awake. */
  async end(): Promise<void> {
    await this.#waking;
  }

  async #sleep(worker: ClusterProcess): Promise<void> {
    this.#asleep = worker;
    worker.signal('SIGSTOP');
    await sleep(this.#cluster.leaseMs + this.#random.int(50, 1000));
    worker.signal('SIGCONT');
    this.#asleep = undefined;
  }

  async #replace(member: ClusterProcess): Promise<void> {
    await member.kill();
    await member.start();
  }

  async #cut(share: number): Promise<void> {
    await askPostgres(
      this.#cluster.postgres.adminUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'app' and random() < $1`,
      share,
    );
  }

  #awakeWorker(): ClusterProcess {
    return this.#oneOf(this.#cluster.workers.filter((worker) => worker !== this.#asleep));
  }

  #oneOf<T>(items: readonly T[]): T {
    return items[this.#random.int(0, items.length)]!;
  }
}
