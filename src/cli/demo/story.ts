import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionDiff } from '../../core/state/diff.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { releases } from '../config/story-agent.ts';
import type { Narrator, Variable } from './narrator.ts';
import type { WorkerProcesses } from './worker-processes.ts';

interface Teller {
  readonly narrator: Narrator;
  readonly workers: WorkerProcesses;
  /** Runs the work and shows on a terminal what the demo is waiting for. */
  readonly waiting: <T>(what: string, work: () => Promise<T>) => Promise<T>;
}

const patienceMs = 60_000;
const lookMs = 50;

const released = (): Promise<string> => readFile(releases, 'utf8').catch(() => '');

/** Waits until the tool has written its line, which it does before it pauses. */
const untilReleasing = async ({ workers }: Teller): Promise<void> => {
  const deadline = Date.now() + patienceMs;
  while ((await released()) === '' && workers.newest.exitCode === null && Date.now() < deadline) await sleep(lookMs);
};

const showReleases = async ({ narrator }: Teller): Promise<readonly string[]> => {
  await narrator.typed(`cat ${releases}`);
  const lines = (await released()).split('\n').filter(Boolean);
  await narrator.show(...lines);
  return lines;
};

const work = async ({ narrator }: Teller): Promise<Variable> => {
  await narrator.step('A session works in files of its own');
  const id = await narrator.keep('id', 'open', '--agent', 'coder', '--title', 'A rate limiter');
  await narrator.type('send', id, 'Write a rate limiter.');
  await narrator.type('send', id, 'Where do the counts live? Decide, and build it.');
  const [limiter] = await narrator.ask<{ readonly content: string }>('files', 'cat', id, 'limiter.js');
  await narrator.claim('its files are what its tools made of them', limiter?.content.includes('countOf(who)') === true);
  return id;
};

const killWorker = async (teller: Teller, id: Variable): Promise<void> => {
  const { narrator, workers, waiting } = teller;
  await narrator.step('Its worker is killed in the middle of a call that may happen once');
  await narrator.type('send', id, 'Release it.', '--detach');
  await waiting('its worker comes to the call', () => untilReleasing(teller));
  await showReleases(teller);
  const { newest: worker } = workers;
  await narrator.typed(`kill -9 ${worker.pid}`);
  const gone = once(worker, 'exit');
  worker.kill('SIGKILL');
  await gone;
  const calls = (await narrator.ask<SessionEvent>('log', id)).filter(({ type }) => type.startsWith('tool.'));
  const isOpen = calls.at(-1)?.type === 'tool.called';
  await narrator.claim(
    'the worker is dead, and nobody knows what became of its call',
    isOpen && worker.signalCode === 'SIGKILL',
  );
};

const finish = async (teller: Teller, id: Variable): Promise<void> => {
  const { narrator, workers, waiting } = teller;
  await narrator.step('Another worker finishes it');
  await narrator.typed(`perdure worker --session $${id.name} --once`);
  const worker = workers.start(['worker', '--session', id.value, '--once']);
  const [said] = await waiting('it works on what the other has left', () =>
    Promise.all([text(worker.stderr!), once(worker, 'exit')]),
  );
  await narrator.say(said.trimEnd());
  await narrator.type('attach', id);
  const ended = (await narrator.ask<SessionEvent>('log', id)).findLast((event) => event.type === 'run.ended');
  await narrator.claim(
    'the run has succeeded in another process',
    ended?.payload.status === 'succeeded' && worker.exitCode === 0,
  );
  await narrator.claim(
    'the call happened once: its tool was asked what became of it, not run again',
    (await showReleases(teller)).length === 1,
  );
};

const tryAnotherWay = async ({ narrator }: Teller, id: Variable): Promise<Variable> => {
  await narrator.step('A fork tries another way from turn 1 on');
  const fork = await narrator.keep('fork', 'fork', id, '--at', 'turn:1', '--title', 'Another way');
  await narrator.type('send', fork, 'The counts must survive a restart. Decide, and build it.');
  const [there] = await narrator.ask<{ readonly content: string }>('files', 'cat', fork, 'counts.js');
  const [here] = await narrator.ask<{ readonly content: string }>('files', 'cat', id, 'counts.js');
  const isApart = there?.content.includes('sqlite') === true && here?.content.includes('Map') === true;
  await narrator.claim('each has files of its own, and the first has not changed', isApart);
  return fork;
};

const compare = async ({ narrator }: Teller, id: Variable, fork: Variable): Promise<void> => {
  await narrator.step('What was decided differently, and why?');
  await narrator.type('diff', id, '3', fork);
  const [diff] = await narrator.ask<SessionDiff>('diff', id, '3', fork);
  const decisions = JSON.stringify(diff?.decisions);
  const reasons = ['nothing else to run', 'a restart must not forget'];
  await narrator.claim(
    'both decisions are shown with their reasons',
    reasons.every((why) => decisions.includes(why)),
  );
};

const query = async ({ narrator }: Teller, id: Variable): Promise<void> => {
  await narrator.step('Which files changed in the last 5 turns?');
  const asked = ['log', id, '--last', '5', '--path', '/filesModified/**'] as const;
  await narrator.type(...asked);
  const commits = await narrator.ask<{ readonly entries: readonly string[] }>(...asked);
  const files = new Set(
    commits.flatMap(({ entries }) => entries).filter((entry) => entry.startsWith('/filesModified/')),
  );
  await narrator.claim('it is answered by an index, not from the chat', files.size === 2);
};

const verify = async ({ narrator }: Teller, ...sessions: readonly Variable[]): Promise<void> => {
  await narrator.step('Has anybody changed anything since?');
  await narrator.type('verify', ...sessions);
  const [found] = await narrator.ask<{ readonly sessions: readonly { readonly ok: boolean }[] }>('verify', ...sessions);
  await narrator.claim(
    'every event carries the hash of the one before it',
    found?.sessions.every(({ ok }) => ok) === true,
  );
};

/** Runs all steps and returns the session and its fork. */
export const tellStory = async (teller: Teller): Promise<readonly [Variable, Variable]> => {
  const id = await work(teller);
  await killWorker(teller, id);
  await finish(teller, id);
  const fork = await tryAnotherWay(teller, id);
  await compare(teller, id, fork);
  await query(teller, id);
  await verify(teller, id, fork);
  return [id, fork];
};
