import { expect, test } from 'vitest';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import type { MessageInput } from '../../../schema/message.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { displayWidth } from '../../terminal/display-width.ts';

const asked = (callId: string, ...words: readonly { type: 'text' | 'reasoning'; text: string }[]): MessageInput => ({
  role: 'assistant',
  content: [...words, { type: 'tool-call', callId, tool: 'edit', input: {} }],
});
const edited = (callId: string): MessageInput => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId, tool: 'edit', outcome: 'ok', output: 'edited', untrusted: false }],
});
const taken = 'I will change the "port"\nbecause 8080\u001b[31m is taken';
const shown = 'I will change the \\"port\\" because 8080\\x1b[31m is taken';

/** A session of two turns, whose agent edited src/a.ts in each: it gave a text, then only its reasoning. */
const start = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database) });
  const session = await runtime.sessions.open();
  const files = (callId: string) => ({ files: { [callId]: { 'src/a.ts': 'modified' as const } } });
  await session.append({ role: 'user', content: 'One' });
  await session.append([asked('c1', { type: 'text', text: taken }), edited('c1')], files('c1'));
  await session.append({ role: 'user', content: 'Two' });
  const thought = { type: 'reasoning', text: `The host ${'very '.repeat(300)}long` } as const;
  await session.append([asked('c2', thought), edited('c2')], files('c2'));
  const { id } = session;
  await runtime.close();
  const cli = async (argv: readonly string[], columns = Number.POSITIVE_INFINITY) => {
    const { code, out, err } = await callCliOn(database, argv, { columns });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
    expect(out).not.toContain('\u001b');
    return out;
  };
  return { id, cli };
};

test('[WHY7] log, calls, files history and diff quote what the agent said, on one line and without control characters', async () => {
  const { id, cli } = await start();
  expect(await cli(['diff', id, '0', '1'])).toContain(`src/a.ts modified by edit: "${shown}"\n`);
  expect(await cli(['log', id, '--commits'])).toContain(`: "${shown}"\n`);
  expect(await cli(['log', id])).toMatch(/state\.committed .*: "I will change the/);
  expect(await cli(['calls', id])).toContain(`edit: "${shown}"`);
  expect(await cli(['calls', id, '--input'])).toContain(`said "${shown}"`);
  expect(await cli(['files', 'history', id, 'src/a.ts'])).toContain(`modified src/a.ts: "${shown}"\n`);
});

test('[WHY7] without text the reasoning is quoted and marked, cut to 80 columns', async () => {
  const { id, cli } = await start();
  for (const argv of [
    ['diff', id, '1', '2'],
    ['log', id, '--commits'],
    ['calls', id],
    ['files', 'history', id, 'src/a.ts'],
  ]) {
    const lines = (await cli(argv, 80)).split('\n').filter((line) => line.includes(': reasoning "T'));
    expect(lines, argv.join(' ')).toHaveLength(1);
    expect(lines[0]).toContain('…');
  }
  expect(await cli(['log', id, '--commits'])).toMatch(/reasoning "The host (very )+v…"\n/);
});

test('[WHY7, TRACE8] a follower of commits quotes what the agent said', async () => {
  const { id, cli } = await start();
  const followed = await cli(['log', id, '--follow', '--path', '/filesModified/**', '--limit', '1']);
  expect(followed).toContain(`"${shown}"`);
});

test('[WHY7] a reason that was given comes before the words', async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database) });
  const session = await runtime.sessions.open();
  await session.files.write('a.txt', 'x', { why: 'asked by Ann' });
  await runtime.close();
  const { out } = await callCliOn(database, ['diff', session.id, 'seq:1', session.id]);
  expect(out).toContain('a.txt created ("asked by Ann")');
});

test('[WHY9] commit --progress adds notes with keys of their own, beside facts', async () => {
  const { id, cli } = await start();
  await cli(['commit', id, '--progress', 'half', '--progress', 'half', '--fact', 'port=1', '--why', 'so far']);
  const { progress, facts } = JSON.parse(await cli(['state', id, '--json']));
  expect(Object.values(progress)).toEqual([{ note: 'half' }, { note: 'half' }]);
  expect(facts).toEqual({ port: 1 });
});

test('[WHY8] state and diff show confidence and alternatives, and how they moved', async () => {
  const { id, cli } = await start();
  const decided = (decision: object) =>
    cli(['commit', id, '--patch', JSON.stringify([{ op: 'add', path: '/decisions/storage', value: decision }])]);
  const base = { what: 'SQLite', why: 'it lasts' };
  await decided({ ...base, confidence: 0.6, alternatives: ['Map', 'Redis'] });
  expect(await cli(['state', id], 80)).toContain('storage: SQLite (confidence 0.6; against Map, Redis)');
  const { seq } = JSON.parse((await cli(['log', id, '--commits', '--limit', '1', '--json'])).trim());
  await decided({ ...base, confidence: 0.9, alternatives: ['Redis', 'files'] });
  expect(await cli(['diff', id, `seq:${seq}`, id], 80)).toContain(
    'storage: SQLite (confidence 0.6 → 0.9; alternatives +files, -Map)',
  );
  await decided({ ...base, alternatives: ['files', 'Redis'] });
  expect(await cli(['diff', id, `seq:${seq + 1}`, id], 80)).toMatch(
    /confidence 0\.9 → none; alternatives Redis, files → files,\s+Redis\)/,
  );
});
