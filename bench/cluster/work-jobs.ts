/**
 * Works through the waiting jobs on each request; a job writes the rows of one of our runs. Arguments: the database's
 * address, the run's session.
 */
import pg from 'pg';
import { jobs, startBoss } from './boss.ts';
import { answer } from './program.ts';
import { insertRun, readRunRows } from './run-rows.ts';

const [store, session] = process.argv.slice(2);
const run = await readRunRows(store!, session!);
const pool = new pg.Pool({ connectionString: store! });
const boss = await startBoss(store!);
answer(async () => {
  for (;;) {
    const taken = await boss.fetch<{ readonly session: string }>(jobs, { batchSize: 4 });
    if (taken.length === 0) return;
    await Promise.all(taken.map(({ data }) => insertRun(pool, data.session, run)));
    await boss.complete(jobs, taken);
  }
});
