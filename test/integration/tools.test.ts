import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type LedgerDraft, type Tool, type ToolContext, ToolFailure } from '../../src/core/ports/tool.ts';
import { defineAgent, defineScript, openRuntime } from '../../src/index.ts';
import { PerdureError } from '../../src/schema/error.ts';
import type { Json } from '../../src/schema/json.ts';
import { emptyState } from '../../src/schema/state.ts';
import { findRipgrep, searchByRipgrep } from '../../src/tools/files/ripgrep.ts';
import { searchFiles } from '../../src/tools/files/search-files.ts';
import {
  builtInTools,
  editTool,
  keepTool,
  listTool,
  planTool,
  readTool,
  rememberTool,
  searchTool,
  writeTool,
} from '../../src/tools/index.ts';
import { newFolder, newToolContext, useTool } from '../support/runs/tool-context.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const start = async (files: Readonly<Record<string, string | Uint8Array>> = {}) => {
  const { path, remove } = await newFolder();
  undo.push(remove);
  const folder = join(path, 'work');
  mkdirSync(folder);
  const file = (name: string) => join(folder, name);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(file(name), '..'), { recursive: true });
    writeFileSync(file(name), content);
  }
  const use = async (tool: Tool, input: Json, more: Partial<ToolContext> = {}) =>
    (await useTool(tool, input, newToolContext(folder, more))) as string;
  const text = (name: string) => readFileSync(file(name), 'utf8');
  return { outside: path, folder, file, text, use };
};

/** Each file tool, with an input that names this path. */
const reaching = (path: string): readonly (readonly [Tool, Json])[] => [
  [readTool, { path }],
  [writeTool, { path, content: 'x' }],
  [editTool, { path, old: 'secret', new: 'x' }],
  [listTool, { path }],
  [searchTool, { path, pattern: 'secret' }],
];

test('[TOOL1] no path leaves the folder: not by dots, not as an absolute path, not by a symbolic link', async () => {
  const { outside, folder, file, use } = await start({ 'a/b.txt': 'mine' });
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  symlinkSync(join(outside, 'secret.txt'), file('link.txt'));
  symlinkSync('..', file('up'));
  symlinkSync(join(outside, 'not-yet.txt'), file('dangling.txt'));
  symlinkSync('round', file('round'));
  const ways = ['../secret.txt', 'a/../../secret.txt', join(outside, 'secret.txt'), '/etc/passwd', `${folder}2`];
  const links = ['link.txt', 'up', 'up/secret.txt', 'up/new/deep.txt', 'dangling.txt', 'dangling.txt/x', 'round'];
  for (const path of [...ways, ...links]) {
    for (const [tool, input] of reaching(path)) {
      await expect(use(tool, input), `${tool.name} ${path}`).rejects.toThrow(/outside|dangling|loop/);
    }
  }
  for (const [tool, input] of reaching('a\0b')) await expect(use(tool, input)).rejects.toThrow('U+0000');
  for (const [tool, input] of reaching('x'.repeat(5000))) await expect(use(tool, input)).rejects.toThrow('too long');
  expect(readdirSync(outside)).toEqual(['secret.txt', 'work']);
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
  expect(await use(searchTool, { pattern: 'secret' })).toBe('[nothing found]');
});

test('[TOOL1] a path inside the folder may be written in any form, also through links', async () => {
  const { folder, file, use, text } = await start({ 'a/b.txt': 'mine' });
  symlinkSync('a', file('link'));
  for (const path of ['a/b.txt', './a/../a/b.txt', join(folder, 'a/b.txt'), 'link/b.txt']) {
    expect(await use(readTool, { path })).toBe('1\tmine');
  }
  expect(await use(writeTool, { path: 'link/b.txt', content: 'new' })).toMatchObject({ path: 'a/b.txt' });
  expect(text('a/b.txt')).toBe('new');
});

test("[TOOL1] tools cannot use the runtime's own folder", async () => {
  const { file, use } = await start({ '.perdure/perdure.db': 'secret' });
  symlinkSync('.perdure', file('store'));
  for (const path of ['.perdure/perdure.db', 'store/perdure.db', '.Perdure/perdure.db', '.perdure']) {
    for (const [tool, input] of reaching(path))
      await expect(use(tool, input)).rejects.toThrow('belongs to the runtime');
  }
});

test('[FILE25, TOOL1] a file is kept as an artifact under its own or another name, and a failure is reported', async () => {
  const { folder } = await start({ 'out/report.md': '# One', 'plain.bin': new Uint8Array([0, 255]) });
  const kept: unknown[] = [];
  const context = newToolContext(folder, {
    keepArtifact: async (...artifact) => {
      if (artifact[0] === '..') throw new PerdureError('INVALID_INPUT', 'that is no name');
      kept.push(artifact);
    },
  });
  const keep = (input: Json) => useTool(keepTool, input, context);
  expect(await keep({ path: 'out/report.md' })).toEqual({ name: 'report.md', bytes: 5 });
  await keep({ path: './plain.bin', name: 'result', mediaType: 'application/x-result' });
  expect(kept).toEqual([
    ['report.md', Buffer.from('# One'), { path: 'out/report.md' }],
    ['result', Buffer.from([0, 255]), { path: 'plain.bin', mediaType: 'application/x-result' }],
  ]);
  writeFileSync(join(folder, 'big'), '');
  truncateSync(join(folder, 'big'), 32 * 1024 * 1024 + 1);
  symlinkSync('/etc/hostname', join(folder, 'link'));
  for (const path of ['big', 'gone', 'out', 'link', '../x', '/etc/hostname', '.perdure/x']) {
    await expect(keep({ path })).rejects.toThrow(ToolFailure);
  }
  await expect(keep({ path: 'big' })).rejects.toThrow('larger than');
  await expect(keep({ path: 'out/report.md', name: '..' })).rejects.toThrow(new ToolFailure('that is no name'));
  expect(kept).toHaveLength(2);
});

test('[TOOL2] a write makes folders, replaces the whole file and keeps its mode', async () => {
  const { file, use, text } = await start({ 'run.sh': 'old' });
  chmodSync(file('run.sh'), 0o750);
  expect(await use(writeTool, { path: 'run.sh', content: 'é' })).toEqual({
    path: 'run.sh',
    change: 'modified',
    bytes: 2,
  });
  expect(statSync(file('run.sh')).mode & 0o777).toBe(0o750);
  expect(await use(writeTool, { path: 'x/y/z.txt', content: '' })).toMatchObject({ change: 'created' });
  expect(text('x/y/z.txt')).toBe('');
  await expect(use(writeTool, { path: 'x', content: '' })).rejects.toThrow('x is a folder');
  await expect(use(writeTool, { path: 'run.sh/x', content: '' })).rejects.toThrow('is a file, not a folder');
  expect(readdirSync(file('x/y'))).toEqual(['z.txt']);
});

test('[TOOL2] an interrupted write leaves the old content, and repeating it leaves no trace', async () => {
  const { file, use, text } = await start({ 'a.txt': 'old' });
  const context = { idempotencyKey: 'k' };
  await use(writeTool, { path: 'a.txt', content: 'new' }, context);
  writeFileSync(file('a.txt'), 'old');
  // The state after a kill between writing and renaming.
  const draft = `.a.txt.${createHash('sha256').update('k').digest('hex').slice(0, 12)}`;
  writeFileSync(file(draft), 'ne');
  expect(text('a.txt')).toBe('old');
  await use(writeTool, { path: 'a.txt', content: 'new' }, context);
  expect(text('a.txt')).toBe('new');
  expect(readdirSync(file('.'))).toEqual(['a.txt']);
});

test('[TOOL3] an edit replaces text that occurs once, or every occurrence with `all`', async () => {
  const { use, text } = await start({ 'a.ts': 'let a = 1;\nlet b = 1;\n', 'crlf.txt': 'one\r\ntwo\r\nthree\r\n' });
  expect(await use(editTool, { path: 'a.ts', old: 'a = 1', new: 'a = $&' })).toEqual({ path: 'a.ts', places: 1 });
  expect(text('a.ts')).toBe('let a = $&;\nlet b = 1;\n');
  await expect(use(editTool, { path: 'a.ts', old: 'let', new: 'x' })).rejects.toThrow('2 times in a.ts, at lines 1, 2');
  expect(await use(editTool, { path: 'a.ts', old: 'let', new: 'const', all: true })).toMatchObject({ places: 2 });
  expect(text('a.ts')).toBe('const a = $&;\nconst b = 1;\n');
  await use(editTool, { path: 'crlf.txt', old: 'one\ntwo', new: 'one\n2' });
  expect(text('crlf.txt')).toBe('one\r\n2\r\nthree\r\n');
});

test('[TOOL3] an edit that finds nothing says where similar text is and changes nothing', async () => {
  const { use, text, file } = await start({ 'a.ts': 'function first() {\n\treturn  value + 1;\n}\n', 'b.txt': 'x' });
  await expect(use(editTool, { path: 'a.ts', old: 'return value + 1;', new: '' })).rejects.toThrow(
    /nothing was changed\. Similar lines:\n2\t\treturn {2}value \+ 1;/,
  );
  await expect(use(editTool, { path: 'a.ts', old: 'quite different', new: '' })).rejects.toThrow('Read the file');
  await expect(use(editTool, { path: 'a.ts', old: '', new: 'x' })).rejects.toThrow('old');
  await expect(use(editTool, { path: 'a.ts', old: 'x', new: 'x' })).rejects.toThrow('the same');
  await expect(use(editTool, { path: 'no.ts', old: 'x', new: 'y' })).rejects.toThrow('no.ts does not exist');
  writeFileSync(file('latin1.txt'), Buffer.from('caf\xe9 x', 'latin1'));
  await expect(use(editTool, { path: 'latin1.txt', old: 'x', new: 'y' })).rejects.toThrow('not UTF-8');
  truncateSync(file('b.txt'), 17 * 1024 ** 2);
  await expect(use(editTool, { path: 'b.txt', old: 'x', new: 'y' })).rejects.toThrow('larger than');
  expect(text('a.ts')).toContain('return  value');
});

test.each([
  ['applied', 'b', { old: 'a', new: 'b' }, 'ok'],
  ['not applied', 'a', { old: 'a', new: 'b' }, 'not-run'],
  ['neither', 'c', { old: 'a', new: 'b' }, 'not-run'],
  ['an addition, applied', 'ab', { old: 'a', new: 'ab' }, 'ok'],
  ['an addition, not applied', 'a', { old: 'a', new: 'ab' }, 'not-run'],
  ['an addition everywhere', 'ab a', { old: 'a', new: 'ab', all: true }, 'unknown'],
  ['a deletion, applied', 'c', { old: 'a', new: '' }, 'ok'],
])(
  '[TOOL3, TOOL20] the outcome of an interrupted edit is read from the file: %s',
  async (_name, content, edit, outcome) => {
    const { folder } = await start({ 'f.txt': content });
    const input = { path: 'f.txt', ...edit };
    expect(await editTool.reconcile!(input as never, newToolContext(folder))).toMatchObject({ outcome });
    const gone = { ...input, path: 'gone.txt' };
    expect(await editTool.reconcile!(gone as never, newToolContext(folder))).toEqual({ outcome: 'not-run' });
  },
);

test('[TOOL4] read numbers lines, and can continue from any of them', async () => {
  const { use } = await start({ 'a.txt': 'one\r\ntwo\n\nfour', 'empty.txt': '' });
  expect(await use(readTool, { path: 'a.txt' })).toBe('1\tone\n2\ttwo\n3\t\n4\tfour');
  expect(await use(readTool, { path: 'a.txt', offset: 2, limit: 1 })).toBe(
    '2\ttwo\n[more lines follow: read on with offset 3]',
  );
  expect(await use(readTool, { path: 'a.txt', offset: 9 })).toBe('[the file ends with line 4]');
  expect(await use(readTool, { path: 'empty.txt' })).toBe('[the file is empty]');
});

test('[TOOL4] a file that is not text is rejected with its kind', async () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const { use, file } = await start({ 'a.png': png, 'a.jpg': Buffer.from([255, 216, 255, 224]), 'a.bin': 'x\0y' });
  await expect(use(readTool, { path: 'a.png' })).rejects.toThrow('a.png is a PNG image');
  await expect(use(readTool, { path: 'a.jpg' })).rejects.toThrow('a JPEG image');
  await expect(use(readTool, { path: 'a.bin' })).rejects.toThrow('a binary file');
  await expect(use(readTool, { path: '.' })).rejects.toThrow('is a folder: use list');
  execFileSync('mkfifo', [file('pipe')]);
  await expect(use(readTool, { path: 'pipe' })).rejects.toThrow('not a regular file');
});

test('[TOOL4] files and lines of any size are read within bounds', async () => {
  const { use, file } = await start({ 'lines.txt': 'x\n'.repeat(3_000_000), 'line.txt': 'y'.repeat(20_000_000) });
  expect((await use(readTool, { path: 'lines.txt' })).split('\n')).toHaveLength(2001);
  expect(await use(readTool, { path: 'lines.txt', offset: 3_000_000 })).toBe('3000000\tx');
  const line = await use(readTool, { path: 'line.txt' });
  expect(line).toHaveLength(2 + 2000 + ' [… 19998000 more characters in this line]'.length);
  writeFileSync(file('wide.txt'), `${'z'.repeat(1999)}\n`.repeat(5000));
  expect((await use(readTool, { path: 'wide.txt', limit: 10_000 })).length).toBeLessThan(210_000);
});

const tree = {
  'a.ts': 'const needle = 1;\n',
  'src/b.ts': 'x\nNeedle\n',
  'src/c.md': 'needle',
  'src/build/out.ts': 'needle',
  'src/build/keep.ts': 'needle',
  'src/.gitignore': 'build/*\n!keep.ts\n# comment\n',
  'ignored.log': 'needle',
  '.gitignore': '*.log\n/only-here/\n',
  'only-here/a.ts': 'needle',
  'src/only-here/a.ts': 'needle',
  '.hidden/a.ts': 'needle',
  'node_modules/m/a.ts': 'needle',
  'binary.ts': 'needle\0',
};

test('[TOOL5] list shows a folder to the requested depth, without hidden or ignored entries', async () => {
  const { use, file } = await start(tree);
  symlinkSync('..', file('up'));
  expect(await use(listTool, {})).toBe('a.ts\nbinary.ts\nsrc/\nup@');
  expect(await use(listTool, { path: 'src', depth: 3 })).toBe(
    ['src/b.ts', 'src/build/', 'src/build/keep.ts', 'src/c.md', 'src/only-here/', 'src/only-here/a.ts'].join('\n'),
  );
  await expect(use(listTool, { path: 'a.ts' })).rejects.toThrow('a.ts is a file: use read');
  await expect(use(listTool, { path: 'nope' })).rejects.toThrow('nope does not exist');
  mkdirSync(file('many'));
  for (let at = 0; at < 1200; at++) writeFileSync(file(`many/${at}`), '');
  expect((await use(listTool, { path: 'many' })).split('\n')).toHaveLength(1001);
});

test('[TOOL5] search finds by expression, text, glob and folder, with a bounded number of results', async () => {
  const { use, file } = await start(tree);
  const all = [
    'a.ts:1: const needle = 1;',
    'src/build/keep.ts:1: needle',
    'src/c.md:1: needle',
    'src/only-here/a.ts:1: needle',
  ];
  const found = async (input: { readonly [key: string]: Json }) =>
    (await use(searchTool, input)).split('\n').toSorted();
  expect(await found({ pattern: 'needle' })).toEqual(all);
  expect(await found({ pattern: '^needle$', ignoreCase: true, glob: '*.ts' })).toEqual([
    'src/b.ts:2: Needle',
    'src/build/keep.ts:1: needle',
    'src/only-here/a.ts:1: needle',
  ]);
  expect(await found({ pattern: 'needle', glob: 'src/*.{md,txt}' })).toEqual(['src/c.md:1: needle']);
  expect(await found({ pattern: 'n.edle', text: true })).toEqual(['[nothing found]']);
  expect(await found({ pattern: 'needle', path: 'a.ts' })).toEqual([all[0]]);
  expect(await found({ pattern: '(?<=const )needle' })).toEqual([all[0]]);
  await expect(use(searchTool, { pattern: '(' })).rejects.toThrow('cannot be used');
  writeFileSync(file('many.txt'), 'hay\n'.repeat(5000));
  const many = (await use(searchTool, { pattern: 'hay', limit: 10 })).split('\n');
  expect(many).toHaveLength(11);
  expect(many.at(-1)).toContain('more than 10');
});

test('[TOOL5] an expression that would run forever is stopped, and blocks nothing meanwhile', async () => {
  const { folder } = await start({ 'a.txt': 'needle\n', 'b.txt': `${'a'.repeat(60)}!` });
  const request = {
    root: folder,
    from: '.',
    pattern: '^needle$|^(a|aa)+$',
    isText: false,
    ignoreCase: false,
    maxMatches: 10,
  };
  let ticks = 0;
  const clock = setInterval(() => ticks++, 10);
  const result = await searchFiles(request, 5000, new AbortController().signal);
  clearInterval(clock);
  expect(result).toEqual({ matches: [{ name: 'a.txt', line: 1, text: 'needle' }], isTimedOut: true });
  expect(ticks).toBeGreaterThan(10);
  const cancel = new AbortController();
  const cancelled = searchFiles(request, 60_000, cancel.signal);
  cancel.abort(new Error('enough'));
  await expect(cancelled).rejects.toThrow('enough');
});

const ripgrep = findRipgrep();
test.skipIf(!ripgrep)('[TOOL5] ripgrep, if it is installed, finds the same (skipped without rg on PATH)', async () => {
  const { folder } = await start(tree);
  const signal = new AbortController().signal;
  for (const more of [
    {},
    { glob: '*.ts' },
    { glob: 'src/**/*.ts' },
    { ignoreCase: true },
    { pattern: 'n.*e$' },
    { isText: true },
  ]) {
    const request = {
      root: folder,
      from: '.',
      pattern: 'needle',
      isText: false,
      ignoreCase: false,
      maxMatches: 50,
      ...more,
    };
    const [ours, theirs] = [
      await searchFiles(request, 10_000, signal),
      await searchByRipgrep(ripgrep!, request, 10_000, signal),
    ];
    expect(theirs?.matches.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      ours.matches.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
  }
  const lookaround = { root: folder, from: '.', pattern: '(?=n)', isText: false, ignoreCase: false, maxMatches: 5 };
  expect(await searchByRipgrep(ripgrep!, lookaround, 10_000, signal)).toBeUndefined();
});

test('[TOOL29] a line that ripgrep reports is shown only if the file in the folder has it', async () => {
  const { outside, folder } = await start({ 'a.txt': 'mine\n', 'b.txt': 'first\nsecond needle\r\n', 'c.txt': 'n\xe9' });
  const found = (path: string, line_number: number, lines: object) =>
    JSON.stringify({ type: 'match', data: { path: { text: path }, line_number, lines } });
  const messages = [
    found('./a.txt', 1, { text: 'needle of another file\n' }),
    found('./b.txt', 2, { text: 'second needle\r\n' }),
    found('./c.txt', 1, { bytes: Buffer.from([0x6e, 0xff]).toString('base64') }),
    found('./none.txt', 1, { text: 'needle\n' }),
  ];
  writeFileSync(join(outside, 'messages'), messages.join('\n'));
  writeFileSync(join(outside, 'rg'), `#!/bin/sh\ncat '${join(outside, 'messages')}'\n`, { mode: 0o755 });
  const request = { root: folder, from: '.', pattern: 'n', isText: false, ignoreCase: false, maxMatches: 9 };
  const result = await searchByRipgrep(join(outside, 'rg'), request, 10_000, new AbortController().signal);
  expect(result?.matches).toEqual([{ name: 'b.txt', line: 2, text: 'second needle' }]);
});

test.runIf(process.platform === 'linux')('[TOOL29] a named pipe as .gitignore holds up no tool', async () => {
  const { folder, use } = await start({ 'a.txt': 'needle' });
  execFileSync('mkfifo', [join(folder, '.gitignore')]);
  expect(await use(listTool, {})).toBe('a.txt');
  expect(await use(searchTool, { pattern: 'needle' })).toBe('a.txt:1: needle');
});

test('[TOOL6] decisions, facts, plans and files are in the state; a question waits; a key is recalled', async () => {
  const { folder, file } = await start();
  const plan = [
    { do: 'set', id: 'a', step: 'First', status: 'done' },
    { do: 'set', id: 'b', step: 'Second' },
    { do: 'move', id: 'b', before: 'a' },
  ];
  const calls = [
    { tool: 'decide', input: { id: 'db', what: 'SQLite', why: 'one file' } },
    { tool: 'remember', input: { key: 'port', value: 8080 } },
    { tool: 'plan', input: { changes: plan } },
    { tool: 'write', input: { path: './x/../a.txt', content: 'one' } },
    { tool: 'edit', input: { path: 'a.txt', old: 'one', new: 'two' } },
    { tool: 'recall', input: { key: 'fact:port' } },
    { tool: 'ask', input: { question: 'Which?', options: ['this', 'that'] } },
  ];
  const agent = defineAgent({
    name: 'tester',
    version: 1,
    model: defineScript({ name: 'test', steps: [...calls.map((call) => ({ calls: [call] })), { text: 'Done.' }] }),
    instructions: '',
    tools: builtInTools,
  });
  const runtime = await openRuntime({
    store: `sqlite:${file('.perdure/log.db')}`,
    agents: [agent],
    worker: false,
  });
  undo.push(() => runtime.close());
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent, files: { cwd: folder } });
  const run = await session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'question' });
  const [call] = (await session.toolCalls({ tool: 'edit' })).calls;
  expect(await session.state()).toMatchObject({
    decisions: { db: { what: 'SQLite', why: 'one file' } },
    facts: { port: 8080 },
    plan: { a: { step: 'First', status: 'done', order: 1 }, b: { step: 'Second', status: 'todo', order: 0 } },
    filesModified: { 'a.txt': { change: 'modified', tool: 'edit', callId: call!.callId } },
  });
  expect((await session.toolCalls()).calls.every(({ status }) => status === 'ok' || status === 'running')).toBe(true);
  expect(existsSync(file('x'))).toBe(false);
});

test('[TOOL6] updating a plan step that does not exist fails, and so does an invalid record key', async () => {
  const { use } = await start();
  await expect(use(planTool, { changes: [{ do: 'drop', id: 'x' }] })).rejects.toThrow('no step x; it has: none');
  await expect(use(planTool, { changes: [{ do: 'set', id: 'x' }] })).rejects.toThrow('describe it');
  await expect(use(planTool, { changes: [{ do: 'drop', id: 'constructor' }] })).rejects.toThrow('no step constructor');
  await expect(use(rememberTool, { key: '__proto__', value: 1 })).rejects.toThrow('choose another name');
  const draft = structuredClone(emptyState) as LedgerDraft;
  const changes = [
    { do: 'set', id: 'a', step: 'A' },
    { do: 'set', id: 'b', step: 'B' },
    { do: 'set', id: 'c', step: 'C' },
    { do: 'move', id: 'c', before: 'b' },
    { do: 'move', id: 'a' },
    { do: 'drop', id: 'b' },
  ];
  planTool.change!(draft, { changes } as never, undefined as never);
  expect(Object.entries(draft.plan).toSorted(([, a], [, b]) => a.order - b.order)).toMatchObject([
    ['c', {}],
    ['b', { status: 'dropped' }],
    ['a', {}],
  ]);
});
