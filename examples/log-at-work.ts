/** The log at work: open, append, kill, reopen, fork, verify. Everything happens for real, and every claim is checked. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuntime, type Session } from '../src/index.ts';
import { copyWithAChangedByte, countRows } from './log-at-work/by-hand.ts';
import { type Acknowledged, killAWriter } from './log-at-work/kill-a-writer.ts';
import { claim, command, figure, paint, perdure, say, step, title, type } from './log-at-work/narrator.ts';

const file = join('.perdure', 'demo.db');
const store = `sqlite:${file}`;
const forkedTurn = 3;
const changedEvent = 7;

const eventHashes = async (session: Session): Promise<Map<number, string>> => {
  const hashes = new Map<number, string>();
  for await (const { seq, hash } of session.events()) hashes.set(seq, hash);
  return hashes;
};

const lastWords = async (session: Session): Promise<string> => {
  const [entry] = await session.transcript({ lastTurns: 1 });
  const [part] = entry?.message.content ?? [];
  return part?.type === 'text' ? part.text : '';
};

const checkAcknowledged = async (session: Session, acknowledged: readonly Acknowledged[]): Promise<void> => {
  const stored = await eventHashes(session);
  const lost = acknowledged.filter(({ seq, hash }) => stored.get(seq) !== hash).length;
  claim(lost === 0, `all ${figure(acknowledged.length)} acknowledged events are there, with the same hashes`);
  claim(
    [...stored.keys()].every((seq, index) => seq === index + 1),
    `no gap from event 1 to event ${figure(stored.size)}`,
  );
  const unreported = stored.size - 1 - acknowledged.length;
  if (unreported > 0) say(`  (${unreported} more reached the disk before it could report them)`);
};

const goOnAndFork = async (session: Session): Promise<Session> => {
  const question = 'Where were we?';
  command(`${perdure} append ${session.id} '${question}'`);
  const [event] = await session.append({ role: 'user', content: question });
  claim(event !== undefined, `it goes on: event ${figure(event!.seq)}, turn ${figure(event!.turn)}`);

  step(`Fork: what if it had gone another way after turn ${forkedTurn}?`);
  command(`${perdure} fork ${session.id} --at turn:${forkedTurn}`);
  const branch = await session.fork({ at: { turn: forkedTurn }, title: 'Another way' });
  await branch.append({ role: 'user', content: 'Let us talk about music instead.' });
  await session.append({ role: 'assistant', content: 'We were squaring numbers.' });
  const [theirs, ours] = [await eventHashes(session), await eventHashes(branch)];
  const { forkedAt = 0 } = await branch.summary();
  const shared = [...ours].filter(([seq, hash]) => theirs.get(seq) === hash).length;
  claim(shared === forkedAt, `both share their first ${forkedAt} events`);
  const own = countRows(file, branch.id);
  claim(own === ours.size - forkedAt, `of the fork only its own ${own} events are stored: nothing was copied`);
  claim((await lastWords(branch)).includes('music'), `the fork's last question: "${await lastWords(branch)}"`);
  claim((await lastWords(session)) === question, `the original's last question: "${await lastWords(session)}"`);
  return branch;
};

const verifyAndTamper = async (session: Session): Promise<void> => {
  step('Verify: every event carries the hash of the one before it');
  await type(store, ['verify', session.id]);
  const folder = mkdtempSync(join(tmpdir(), 'perdure-tampered-'));
  try {
    say();
    say(`One bit of event ${changedEvent} is changed by hand in a copy of the database. There:`);
    const copy = join(folder, 'copy.db');
    copyWithAChangedByte(file, copy, session.id, changedEvent);
    const { output } = await type(`sqlite:${copy}`, ['verify', session.id], { exit: 1 });
    claim(output.includes(`event ${changedEvent} is bad`), 'verify names the event');
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const tell = async (): Promise<void> => {
  title('Perdure: the log at work');
  say();
  say('Beside each step stands the command that does it, given this:');
  command(`export PERDURE_STORE=${store}`);

  step('Open a session in a file');
  const { output: id } = await type(store, ['open', '--title', 'The log at work']);

  step('Another process appends turns as fast as it can, until it is killed');
  const { pid, turns, acknowledged } = await killAWriter(store, id);
  command(`kill -9 ${pid}`);
  say(`Until then it was told of ${figure(turns)} turns, each when it was safe on the disk.`);

  step('Open the file again');
  const runtime = await openRuntime({ store });
  try {
    const session = await runtime.sessions.get(id);
    await checkAcknowledged(session, acknowledged);
    const branch = await goOnAndFork(session);
    say();
    const { output } = await type(store, ['tree', branch.id]);
    claim(output.includes(id) && output.includes(branch.id), 'the family, with the point that the fork goes on from');
    await verifyAndTamper(session);
  } finally {
    await runtime.close();
  }

  console.log(`\n${paint('bold', 'That was:')} killed without loss, forked without copying, no change unseen.`);
  console.log('The store is kept. Try next:\n');
  command(`export PERDURE_STORE=${store}`);
  command(`${perdure} ls`);
  command(`${perdure} show ${id} --last 3`);
  command(`${perdure} log ${id} --after ${acknowledged.at(-1)?.seq ?? 0}`);
};

await tell().catch((error: unknown) => {
  console.error(`\n${paint('red', '✗')} ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
});
