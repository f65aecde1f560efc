import { defineScript } from '../../index.ts';

const limiter = `/** Whether somebody who asked so often within a minute may ask again. */
export const mayAsk = (count) => count < 100;
`;
const inMemory = `const counts = new Map();
export const countOf = (who) => counts.get(who) ?? 0;
export const add = (who) => counts.set(who, countOf(who) + 1);
`;
const inSqlite = `import { DatabaseSync } from 'node:sqlite';
const counts = new DatabaseSync('counts.db');
counts.exec('CREATE TABLE IF NOT EXISTS counts (who TEXT PRIMARY KEY, count INTEGER)');
export const countOf = (who) => counts.prepare('SELECT count FROM counts WHERE who = ?').get(who)?.count ?? 0;
export const add = (who) => counts.prepare('INSERT OR REPLACE INTO counts VALUES (?, ?)').run(who, countOf(who) + 1);
`;
const useCounts = {
  tool: 'edit',
  input: {
    path: 'limiter.js',
    old: '(count) => count < 100',
    new: '(who) => countOf(who) < 100',
  },
};

const write = 'write a rate limiter';
const decide = 'where do the counts live';
const survive = 'survive a restart';
const release = 'release';

/** Script of the agent of `perdure demo`. */
export const storyScript = defineScript({
  name: 'story',
  everyTurn: true,
  steps: [
    {
      when: { answers: 0, userMatches: write },
      text: 'I begin with the rule.',
      calls: [{ tool: 'write', input: { path: 'limiter.js', content: limiter } }],
    },
    { when: { answers: 1, userMatches: write }, text: 'limiter.js has the rule; nobody counts yet.' },
    {
      when: { answers: 0, userMatches: decide },
      text: 'In memory.',
      calls: [
        {
          tool: 'decide',
          input: { id: 'counts', what: 'counts live in memory', why: 'one process, nothing else to run' },
        },
        { tool: 'write', input: { path: 'counts.js', content: inMemory } },
        useCounts,
      ],
    },
    { when: { answers: 1, userMatches: decide }, text: 'counts.js counts, and limiter.js asks it.' },
    {
      when: { answers: 0, userMatches: survive },
      text: 'Then in SQLite.',
      calls: [
        {
          tool: 'decide',
          input: { id: 'counts', what: 'counts live in SQLite', why: 'a restart must not forget who asked' },
        },
        { tool: 'write', input: { path: 'counts.js', content: inSqlite } },
        useCounts,
      ],
    },
    { when: { answers: 1, userMatches: survive }, text: 'counts.js keeps them in a file now.' },
    {
      when: { answers: 0, userMatches: release },
      text: 'That must happen once.',
      calls: [{ tool: 'release', input: { version: '1.0.0' } }],
    },
    { when: { answers: 1, userMatches: release, last: { outcome: 'ok' } }, text: '1.0.0 is released.' },
    { when: { answers: 1, userMatches: release }, text: 'I do not know whether 1.0.0 is released.' },
  ],
});
