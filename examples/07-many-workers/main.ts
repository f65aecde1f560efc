/**
 * Three worker processes share the sessions of one PostgreSQL. One is killed at work, and the others finish its runs.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openRuntime, type Session } from 'perdure';
import { walker } from './walker.ts';

const brought = join(import.meta.dirname, '../../test/support/postgres/start-postgres.ts'); // in a checkout, starts a server for as long as this runs
if (!process.env.PERDURE_STORE && !existsSync(brought)) {
  console.error('This example needs a PostgreSQL: name an empty database and the role that owns it, as in');
  console.error('PERDURE_STORE=postgres://perdure:secret@localhost:5432/perdure');
  process.exit(2);
}

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-many-workers-'));
process.env.PERDURE_DATA = folder.path;
const startServer = async () => {
  const { startPostgres, createOnlyDatabase } = await import(pathToFileURL(brought).href);
  const started = await startPostgres();
  process.env.PERDURE_STORE = await createOnlyDatabase(started); // connects as an ordinary role that owns the database, never as the superuser
  return started;
};
const server = process.env.PERDURE_STORE ? undefined : await startServer();

const startWorker = (name: string) => {
  const worker = fork(join(import.meta.dirname, 'worker.ts'), { env: { ...process.env, WORKER: name } });
  return { name, worker, atWork: once(worker, 'message'), ended: once(worker, 'exit') };
};

const tell = async (session: Session) => {
  const { title } = await session.summary();
  const by: unknown[] = [];
  let attempts = 0;
  for await (const { type, payload } of session.events()) {
    if (type === 'run.started') attempts = payload.attempt;
    if (type === 'tool.completed') by.push(payload.output);
  }
  console.log(`  ${title}: ${attempts} ${attempts > 1 ? 'attempts' : 'attempt'}, its steps by ${by.join(', ')}`);
};

{
  await using runtime = await openRuntime({
    store: process.env.PERDURE_STORE!,
    agents: [walker],
    worker: false, // the others work
  });
  const workers = ['a', 'b', 'c'].map(startWorker);
  const sessions = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((number) => runtime.sessions.open({ agent: walker, title: `Session ${number}` })),
  );
  const runs = await Promise.all(sessions.map((session) => session.send('Walk')));
  console.log(`${runs.length} runs are admitted; the workers a, b and c share them.`);

  const first = await Promise.race(workers.map((each) => each.atWork.then(() => each)));
  first.worker.kill('SIGKILL');
  console.log(`${first.name}, the first at work, was killed in the middle of a step.`);

  const results = await Promise.all(runs.map((run) => run.waitForEnd()));
  console.log(`${results.filter(({ status }) => status === 'succeeded').length} runs succeeded:`);
  for (const session of sessions) await tell(session);

  for (const { worker } of workers) if (worker.connected) worker.disconnect();
  await Promise.all(workers.map(({ ended }) => ended));
}
await server?.close();
