import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { openPostgresStore } from '../../src/stores/postgres/index.ts';
import type { Bench } from '../bench-case.ts';
import type { Place } from '../engines/engine.ts';
import { type Figure, show, type Target } from '../figure.ts';
import { median } from '../statistics.ts';
import { jobs, startBoss } from './boss.ts';

const sizes = [10, 1000, 20_000] as const;
const agent = 'bench@1';
const warmUpRounds = 10;
const roundsPerVacuum = 10;

/** A backlog to claim from, which is refilled after each claim. */
interface Backlog {
  /** Claims one item and returns how long that took. */
  takeOne(): Promise<number>;
  /** Vacuums the table. Autovacuum would do this too, but at unpredictable times. */
  vacuum(): Promise<unknown>;
  close(): Promise<void>;
}

const connect = async (place: Place): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: place.address, options: '-c perdure.dispatch=on' });
  await client.connect();
  return client;
};

/** Adds sessions to the queue as appends do. */
const enter = `select perdure.enter_work($1, array_agg('ses_' || lpad(n::text, 26, '0')), array_agg(2::bigint),
    array_agg($2::text), array_agg(1::smallint))
  from generate_series(1, $3::integer) n`;

const sessionsWaiting =
  (inWorkspaces: number) =>
  async ({ engine, library }: Bench, size: number): Promise<Backlog> => {
    const place = await engine.newPlace();
    const postgres = (await import(new URL('./stores/postgres/index.js', library.url).href)) as {
      readonly openPostgresStore: typeof openPostgresStore;
    };
    const store = await postgres.openPostgresStore({ url: place.address });
    const client = await connect(place);
    const workspaces = Math.min(size, inWorkspaces);
    for (let at = 0; at < workspaces; at++) await client.query(enter, [`workspace-${at}`, agent, size / workspaces]);
    const holder = { worker: 'worker_bench', machine: 'bench', process: 1, processStart: '1' };
    return {
      takeOne: async () => {
        const start = performance.now();
        const { taken } = await store.claim({ holder, forMs: 30_000, count: 1, agents: [agent] });
        const ms = performance.now() - start;
        await store.release(taken[0]!, { worker: holder.worker });
        return ms;
      },
      vacuum: () => client.query('vacuum analyze perdure.work'),
      close: async () => {
        await client.end();
        await store.close();
        await place.remove();
      },
    };
  };

const jobsWaiting = async ({ engine }: Bench, size: number): Promise<Backlog> => {
  const place = await engine.newPlace();
  const boss = await startBoss(place.address);
  const client = await connect(place);
  const newJob = () => ({ session: `ses_${randomUUID()}` });
  await boss.createQueue(jobs);
  await boss.insert(
    jobs,
    Array.from({ length: size }, () => ({ data: newJob() })),
  );
  return {
    takeOne: async () => {
      const start = performance.now();
      const taken = await boss.fetch(jobs);
      const ms = performance.now() - start;
      await boss.complete(jobs, taken);
      await boss.send(jobs, newJob());
      return ms;
    },
    vacuum: () => client.query('vacuum analyze pgboss.job'),
    close: async () => {
      await client.end();
      await boss.stop();
      await place.remove();
    },
  };
};

interface Kind {
  readonly name: (count: string) => string;
  readonly target?: Target;
  readonly open: (bench: Bench, size: number) => Promise<Backlog>;
}

const target = { atMost: 3 };
const kinds: readonly Kind[] = [
  { name: (count) => `claim with ${count} sessions waiting in one workspace`, target, open: sessionsWaiting(1) },
  { name: (count) => `claim with ${count} sessions waiting in 200 workspaces`, target, open: sessionsWaiting(200) },
  { name: (count) => `fetch of pg-boss with ${count} jobs waiting`, open: jobsWaiting },
];

/** Measures how long a claim takes with this many waiting sessions; all contenders alternate. */
export const claims = async (bench: Bench): Promise<readonly Figure[]> => {
  const measured: { kind: Kind; size: number; backlog: Backlog; times: number[] }[] = [];
  for (const kind of kinds) {
    for (const size of sizes) measured.push({ kind, size, backlog: await kind.open(bench, size), times: [] });
  }
  for (let round = -warmUpRounds; round < (bench.quick ? 40 : 150); round++) {
    for (const { backlog, times } of measured) {
      if (round % roundsPerVacuum === 0) await backlog.vacuum();
      const ms = await backlog.takeOne();
      if (round >= 0) times.push(ms);
    }
  }
  for (const { backlog } of measured) await backlog.close();
  return kinds.flatMap((kind) => {
    const [few, ...others] = measured.filter((each) => each.kind === kind).map(({ times }) => median(times));
    return others.map((many, at): Figure => {
      const name = `${kind.name(show(sizes[at + 1]!, ''))}, times with ${sizes[0]}`;
      const detail = `p50 ${show(many, 'ms')} against ${show(few!, 'ms')}`;
      return { name, value: many / few!, unit: 'x', detail, ...(kind.target && { target: kind.target }) };
    });
  });
};
