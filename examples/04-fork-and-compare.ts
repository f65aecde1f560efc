/** One session, forked at a turn and continued in two ways: which decisions differ, and why. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineScript, openRuntime } from 'perdure';
import { decideTool, rememberTool } from 'perdure/tools';

const remember = (key: string, value: string) => ({ tool: 'remember', input: { key, value } });
const decide = (what: string, why: string) => ({ tool: 'decide', input: { id: 'database', what, why } });
/** Stands in for a model: its answer depends on the question. */
const script = defineScript({
  everyTurn: true,
  steps: [
    { when: { answers: 0, userMatches: 'users' }, calls: [remember('users', 'one team, one machine')] },
    { when: { answers: 0, userMatches: 'small' }, calls: [decide('SQLite', 'one file, no service to run')] },
    {
      when: { answers: 0, userMatches: 'grow' },
      calls: [decide('PostgreSQL', 'many machines can share it'), remember('users', 'many teams, next year')],
    },
    { text: 'Noted.' },
  ],
});
const architect = defineAgent({
  name: 'architect',
  model: script,
  tools: [decideTool, rememberTool],
});

await using folder = await mkdtempDisposable(join(tmpdir(), 'perdure-fork-'));
const store = process.env.PERDURE_STORE ?? `sqlite:${join(folder.path, 'perdure.db')}`;
await using runtime = await openRuntime({ store, agents: [architect] });

const session = await runtime.sessions.open({ agent: architect, title: 'Keep it small' });
await (await session.send('Who are the users?')).result();
await (await session.send('Choose a database; keep it small.')).result();

const branch = await session.fork({ at: { turn: 1 }, title: 'Let it grow' }); // copies nothing
await (await branch.send('Choose a database that lets us grow.')).result();

const { decisions, facts } = await session.diff({ turn: 2 }, { session: branch.id });
console.log('From the session to its fork:');
for (const { id, before, after } of decisions) {
  console.log(`  decision ${id}: ${before?.what} (${before?.why})`);
  console.log(`        became: ${after?.what} (${after?.why})`);
}
for (const { id, before, after } of facts) console.log(`  fact ${id}: "${before}" became "${after}"`);

const { forkedAt = 0, seq } = await branch.summary();
console.log(`The fork reads the session's first ${forkedAt} events as its own; ${seq - forkedAt} more are its own.`);
