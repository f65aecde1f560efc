import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOnlyDatabase, type PostgresServer, startPostgres } from '../support/postgres/start-postgres.ts';
import { startAppender } from './appender-process.ts';
import { checkAfterCrash, checkWhole, figuresOf, newTrial } from './trial.ts';

/** Number of kills of the server: 3 for 40 kills of a process, 25 for 500. */
const kills = Math.max(3, Math.round(Number(process.env.PERDURE_KILLS) / 20));

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

test('[LOG2, LOG3, FAULT1] a killed PostgreSQL loses no acknowledged event, and its clients continue when it is back', async () => {
  const started = performance.now();
  const trial = newTrial(await createOnlyDatabase(server));
  for (let round = 1; round <= kills; round++) {
    const appender = startAppender(trial.address, round, 'outages');
    await appender.next('acknowledged', randomInt(1, 200));
    await pause(randomInt(0, 20));
    await server.kill();
    await server.start();
    await appender.next('acknowledged', 20);
    await appender.kill();
    await checkAfterCrash(trial, appender.reports);
  }
  await checkWhole(trial);
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`server: ${kills} kills in ${seconds} s; ${figuresOf(trial)}`);
  expect(trial.acknowledged.length).toBeGreaterThan(kills * 20);
});
