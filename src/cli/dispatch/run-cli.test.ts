import { beforeEach, describe, expect, test } from 'vitest';
import { callCli, recorder } from '../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../runtime.ts';
import { errorCodes, PerdureError } from '../../schema/error.ts';
import { errorCatalog } from '../../schema/error-catalog.ts';
import { eventDefinitions } from '../../schema/event.ts';
import type { MessageInput } from '../../schema/message.ts';
import { type MemoryDatabase, newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { environment } from '../parse/environment.ts';
import { exitTable } from '../parse/exit-codes.ts';
import type { World } from '../parse/world.ts';
import { displayWidth, truncate } from '../terminal/display-width.ts';
import { OutputClosed, type Terminal } from '../terminal/terminal.ts';
import { commandGroups, commands } from './registry.ts';

let database: MemoryDatabase;
beforeEach(() => {
  database = newMemoryDatabase();
});

const storeless = ['help', 'agents'];

/** Runs a call on a terminal of 80 columns by default. */
const cli = (argv: readonly string[], world: Parameters<typeof callCli>[1] = {}) =>
  callCli([...argv, ...(argv.includes('--store') || storeless.includes(argv[0]!) ? [] : ['--store', 'memory'])], {
    openRuntime: (options) => openRuntime({ ...options, store: openMemoryStore(database) }),
    ...world,
  });

const stdinOf = (text: string) =>
  async function* () {
    yield Buffer.from(text);
  };

const sessionWith = async (...messages: MessageInput[]): Promise<string> => {
  const id = (await cli(['open', '--title', 'A session'])).out.trim();
  const lines = messages.map((message) => JSON.stringify(message)).join('\n');
  if (messages.length > 0) await cli(['append', id, '--jsonl'], { stdin: stdinOf(lines) });
  return id;
};

/**
 * Matches a line that consists of one long word of an example. It must not be broken, because a broken word could not
 * be pasted.
 */
const wordOfCommand = /^ {4}(?:'[^']*'|"[^"]*"|\S+)(?: \\)?$/;

const hostile = 'x\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u007fy';
const long = 'word '.repeat(60).trim();

test('[CLI1] a message in place of a session is reported with the command that sends it', async () => {
  const columns = Number.POSITIVE_INFINITY;
  for (const argv of [
    ['send', 'Fix the bug'],
    ['send', 'Fix the bug', '--file', 'a.txt'],
  ]) {
    expect(await cli(argv, { columns })).toMatchObject({
      code: 2,
      err: `error INVALID_INPUT: "Fix the bug" is not a session: try \`perdure send --new 'Fix the bug' --store memory\`, or name one before it\n`,
    });
  }
  expect(await cli(['chat', 'Fix it'], { columns })).toMatchObject({
    code: 2,
    err: `error INVALID_INPUT: "Fix it" is not a session: try \`perdure send --new 'Fix it' --store memory\`, or type it in \`perdure chat --store memory\`\n`,
  });
  expect((await cli(['send', 'abcd'], { columns })).err).toContain('send needs TEXT');
  expect((await cli(['send', 'yes'], { columns })).err).toContain('`perdure send --new yes');
  expect((await cli(['send', '01m'], { columns })).err).toContain('send needs TEXT');
  expect((await cli(['chat', 'ses_'], { columns })).err).toContain('give its id, ses_…');
});

describe('on a terminal of 80 columns', () => {
  test('[CLI1, CLI29] no line of any help is wider than the terminal', async () => {
    const topics = ['all', 'exit-codes', 'environment', ...commandGroups.map(({ name }) => name)];
    for (const argv of [
      ['help'],
      ...[...topics, ...commands.map(({ name }) => name)].map((about) => ['help', about]),
    ]) {
      const { code, out } = await cli(argv);
      expect(code).toBe(0);
      for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
    }
  });

  test('[CLI13] help lists every command once in its groups, and the most used ones on the first screen', async () => {
    const { out } = await cli(['help']);
    const [first, all] = out.split(/start here|all commands|common options/).slice(1);
    expect(first!.trim().split('\n').length).toBeLessThan(20);
    for (const name of ['demo', 'chat', 'send', 'ls']) expect(first).toMatch(new RegExp(`^ {2}${name} `, 'm'));
    const words = all!.split(/[\s,|]+/);
    const unlike = commands.filter(({ name }) => name.split(' ').some((word) => !words.includes(word)));
    expect(unlike).toEqual([]);
    expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length);
    const everything = (await cli(['help', 'all'])).out;
    for (const { name } of commands) expect(everything).toMatch(new RegExp(`^ {2}${name} `, 'm'));
  });

  test('[CLI26] help lists only the options that apply to a command', async () => {
    expect((await cli(['help', 'serve'])).out).not.toMatch(/--server|--key-file/);
    expect((await cli(['help', 'demo'])).out).not.toMatch(/--(store|server|key-file|config|workspace)/);
    expect((await cli(['help', 'ls'])).out).toMatch(/--server URL/);
  });

  test('[CLI13] help describes itself, and --json gives programs the same content', async () => {
    expect((await cli(['help', 'help'])).out).toMatch(/^perdure help \[COMMAND…\]\nlist the commands/);
    const { out } = await cli(['help', 'files', 'get', '--json']);
    const [{ name, options }, ...others] = JSON.parse(out).commands;
    expect({ name, others }).toEqual({ name: 'files get', others: [] });
    expect(options).toContainEqual({ name: 'to', value: 'FOLDER', multiple: false, about: 'where to; required' });
    expect((await cli(['files', 'get', '--help', '--json'])).out).toBe(out);
    const all = JSON.parse((await cli(['help', '--json'])).out).commands;
    expect(all.map((each: { name: string }) => each.name)).toEqual(commands.map((each) => each.name));
  });

  test.each([
    [['verfiy'], /did you mean `perdure verify`/],
    [['exitcodes'], /did you mean `perdure help exit-codes`/],
    [['files', 'gte'], /did you mean `perdure files get`/],
    [['ls', 'show'], /help is about one command: leave out "show"/],
    [['files', 'foo'], /no command "files foo": there are ls, cat/],
    [['look', 'foo'], /help is about one command, group or topic: leave out "foo"/],
    [['events'], /did you mean `perdure log`/],
  ])('[CLI8] unknown help %j suggests what was probably meant', async (words, problem) => {
    const { code, err } = await cli(['help', ...words]);
    expect(code).toBe(2);
    expect(err.replaceAll('\n', ' ')).toMatch(problem);
  });

  test('[CLI1, CLI3] listings, transcripts, logs and trees fit, and hostile text stays text', async () => {
    const id = await sessionWith(
      { role: 'user', content: `${hostile}\n${long}` },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: hostile },
          { type: 'tool-call', callId: 'c1', tool: hostile, input: { path: long, [hostile]: hostile } },
        ],
      },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c1', tool: hostile, outcome: 'threw', output: long }] },
      { role: 'user', content: [{ type: 'file', mediaType: 'text/plain', name: hostile, data: 'aGVsbG8=' }] },
    );
    await cli(['open', '--title', `${hostile} ${long}`, '--metadata', JSON.stringify({ [hostile]: long })]);
    await cli(['fork', id, '--at', '1', '--title', `${hostile} 漢字漢字漢字漢字漢字漢字漢字漢字`]);
    await cli(['pause', id, '--reason', hostile]);
    for (const argv of [['ls'], ['show', id], ['log', id], ['tree', id], ['verify', '--all']]) {
      const { code, out, err, raw } = await cli(argv);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toMatch(argv[0] === 'verify' ? /the chain holds/ : /x\\x1b\[2J|A session/);
      for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: only the two styles of the CLI are removed; no other control character may remain
      expect(raw.replaceAll(/\u001b\[(1|22)m|\n/g, '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });

  test.each([40, 60, 80])(
    '[CLI14] every listing fits a terminal of %i columns, with wide characters counted',
    async (columns) => {
      const wide = '漢字かな交じり文 '.repeat(8).trim();
      const id = await sessionWith({ role: 'user', content: wide }, { role: 'assistant', content: wide });
      await cli(['commit', id, '--fact', `${'k'.repeat(30)}="${wide}"`, '--why', wide]);
      await cli(['files', 'put', id, `src/${'長い'.repeat(20)}.ts`, '-'], { stdin: stdinOf('x') });
      await cli(['artifacts', id, '--keep', '-', '--name', `${'長い'.repeat(20)}.md`], { stdin: stdinOf('x') });
      const fork = (await cli(['fork', id, '--at', '1', '--title', wide])).out.trim();
      await cli(['members', 'add', 'ann.of.a.long.name@example.org', '--name', wide]);
      await cli([
        'keys',
        'create',
        'ann.of.a.long.name@example.org',
        '--name',
        wide,
        '--expires',
        '90d',
        '--area',
        'sessions',
      ]);
      await cli(['webhooks', 'add', `https://example.org/${'hooks/'.repeat(20)}`]);
      const listings = [
        ['ls'],
        ['show', fork],
        ['verify', id, fork],
        ['log', id],
        ['log', id, '--commits'],
        ['log', '--all'],
        ['calls'],
        ['usage'],
        ['usage', fork],
        ['tree', id],
        ['state', id],
        ['files', 'ls', id],
        ['files', 'history', id, `src/${'長い'.repeat(20)}.ts`],
        ['artifacts', id],
        ['agents'],
        ['members', 'ls'],
        ['keys', 'ls'],
        ['webhooks', 'ls'],
        ['audit'],
        ['workers'],
        ['approvals'],
        ['gc', '--dry-run'],
        ['help'],
      ];
      for (const argv of listings) {
        const { code, out } = await cli(argv, { columns });
        expect(code, argv.join(' ')).toBe(0);
        for (const line of out.split('\n'))
          expect(displayWidth(line), `${argv.join(' ')}: ${line}`).toBeLessThanOrEqual(columns);
      }
      expect((await cli(['ls'], { columns })).out).toContain(columns < 80 ? id.slice(-8) : id);
      const names = ['all', 'exit-codes', 'environment', ...commands.map(({ name }) => name)];
      for (const about of names) {
        const lines = (await cli(['help', about], { columns })).out.split('\n');
        for (const line of lines.filter((each) => !wordOfCommand.test(each)))
          expect(displayWidth(line), `help ${about}: ${line}`).toBeLessThanOrEqual(columns);
      }
    },
  );

  test('[CLI14, CLI13] at 40 columns no command name is broken', async () => {
    const words = (await cli(['help'], { columns: 40 })).out.split(/[\s,|]+/);
    for (const { name } of commands) for (const word of name.split(' ')) expect(words).toContain(word);
  });

  test('[CLI14] at 40 columns titles and addresses are visible, and omitted columns are named', async () => {
    const narrow = { columns: 40 };
    const id = await sessionWith({ role: 'user', content: 'hello' });
    await cli(['fork', id, '--title', 'Another way']);
    const listed = (await cli(['ls'], narrow)).out;
    expect(listed).toContain('A session');
    expect(listed).toMatch(/\n2 columns left out; see --json\nids show only their end; see --json\n$/);
    expect((await cli(['log', id], narrow)).out).toMatch(/^left out: time, actor; see --json\n/);
    expect((await cli(['log', id], { columns: 65 })).out).toMatch(/^left out: actor; see --json\n/);
    expect((await cli(['log', id])).out).not.toContain('left out');
    const tree = (await cli(['tree', id], narrow)).out;
    expect(tree).toContain('Another');
    expect(tree).toContain(id.slice(-8));
    expect(tree).toMatch(
      /\nleft out of some lines: turn(, status)?;\ssee --json\nids show only their end; see --json\n$/,
    );
    expect((await cli(['tree', id])).out).not.toMatch(/left out|by their end/);
    const url = `https://example.org/${'hooks/'.repeat(8)}`;
    await cli(['webhooks', 'add', url]);
    expect((await cli(['webhooks', 'ls'], narrow)).out.replaceAll('\n  ', '')).toContain(url);
    await cli(['files', 'put', id, 'a.txt', '-'], { stdin: stdinOf(`  ${'x '.repeat(40)}end\n`) });
    const patch = (await cli(['files', 'diff', id, '0'], narrow)).out;
    expect(patch.split('\n').filter((line) => !/^([-+ @↳]|diff |index |new file |$)/.test(line))).toEqual([]);
    expect(patch.replaceAll('\n↳ ', '')).toContain(`\n+  ${'x '.repeat(40)}end\n`);
  });

  test('[CLI14] at 40 columns event types are shortened in favour of the text, and stay distinguishable', async () => {
    const id = await sessionWith({ role: 'user', content: 'What is this about?' });
    expect((await cli(['log', id], { columns: 40 })).out).toMatch(/ message\.appen… {2}user: What i…\n/);
    expect((await cli(['log', id], { columns: 46 })).out).toMatch(/ message\.appended {3}user: What is t…\n/);
    const shown = Object.keys(eventDefinitions).map((type) => truncate(type, 14));
    expect(new Set(shown).size).toBe(shown.length);
  });

  test('[CLI14] a log truncates at the end of the line with an ellipsis, whatever its characters consist of', async () => {
    const families = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}'.repeat(100);
    const id = await sessionWith(
      { role: 'user', content: families },
      { role: 'user', content: `x${'\u0301'.repeat(9999)}` },
    );
    const lines = (await cli(['log', id])).out.split('\n').filter((line) => line.includes('message.appended'));
    expect(lines.map((line) => line.endsWith('…'))).toEqual([true, true]);
    expect(displayWidth(lines[0]!)).toBeGreaterThan(77);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(80);
  });

  test('[CLI13] PERDURE_WORKSPACE is ignored by commands that have no workspace', async () => {
    const env = { PERDURE_WORKSPACE: 'no name!' };
    expect(await cli(['ls'], { env })).toMatchObject({ code: 2 });
    expect(await cli(['workspaces', 'ls'], { env })).toMatchObject({ code: 0 });
    expect(await callCli(['help'], { env })).toMatchObject({ code: 0 });
  });

  test('a transcript shows text in full and everything else on a short line', async () => {
    const id = await sessionWith(
      { role: 'user', content: 'Read it.\n\n    code();' },
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', tool: 'read', input: { path: 'a.ts' } }] },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c1', tool: 'read', outcome: 'ok', output: 'text' }] },
      { role: 'assistant', content: 'It says "text".' },
    );
    const { out } = await cli(['show', id]);
    expect(out.split('\n').slice(7)).toEqual([
      'user',
      '  Read it.',
      '',
      '      code();',
      'assistant',
      '  → read {"path":"a.ts"}',
      'tool',
      '  ← read ok "text"',
      'assistant',
      '  It says "text".',
      '',
    ]);
    expect((await cli(['show', id, '--at', 'seq:2'])).out).not.toContain('assistant');
    expect((await cli(['show', id, '--at', 'turn:0'])).out).toContain('no messages');
  });

  test('[CLI14] nothing is truncated in a pipe', async () => {
    await cli(['open', '--title', long]);
    const piped = { columns: Number.POSITIVE_INFINITY };
    expect((await cli(['ls'], piped)).out).toContain(long);
    const content = 'word '.repeat(600).trim();
    const id = await sessionWith({ role: 'user', content });
    expect((await cli(['log', id], piped)).out).toContain(content);
    await cli(['commit', id, '--fact', 'port=1', '--why', content.slice(0, 1900)]);
    expect((await cli(['log', id, '--commits'], piped)).out).toContain(content.slice(0, 1900).trim());
  });

  test('an error message begins with its code and is wrapped to the width of the terminal', async () => {
    const { code, err } = await cli(['show', 'no-session']);
    expect(code).toBe(2);
    expect(err).toMatch(/^error INVALID_INPUT: "no-session" names no session: .*\n.+\n(?:.+\n)?$/);
    for (const line of err.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('an export to a terminal needs a file, and a bundle and a JSON answer cannot both go to stdout', async () => {
    const id = await sessionWith();
    expect(await cli(['export', id, '-o', '-'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('binary'),
    });
    const piped = { columns: Number.POSITIVE_INFINITY };
    expect(await cli(['export', id, '--json'], piped)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('-o'),
    });
  });
});

describe('an error', () => {
  const failing = (error: unknown) => cli(['ls'], { openRuntime: () => Promise.reject(error) });

  test.each(errorCodes.filter((code) => code !== 'INVALID_INPUT'))(
    '[CLI9, CLI11] %s has an exit class and is followed by its remedy',
    async (code) => {
      const { code: exit, err } = await failing(new PerdureError(code, 'it went wrong'));
      expect(Object.values(exitTable).filter((each) => each.code === exit)).toHaveLength(1);
      expect(err.replaceAll('\n', ' ').trim()).toBe(`error ${code}: it went wrong ${errorCatalog[code].remedy}`);
    },
  );

  test('[CLI11] the remedy for an unavailable server does not advise repeating a change', () => {
    expect(errorCatalog.SERVER_UNAVAILABLE.remedy).not.toContain('repeat');
  });

  test('[CLI9] a thrown value that cannot be converted to text is reported as a defect', async () => {
    expect(await failing(Object.create(null))).toMatchObject({
      code: 70,
      err: expect.stringContaining('null prototype'),
    });
  });

  test.each([
    ['the key is gone: ask for another', ''],
    ['there is none; `perdure open` makes one', ''],
    ['it is there already: --force replaces it', ''],
    ['it is there already', 'see `perdure help ls`'],
  ])('[CLI11] a wrong call that says "%s" ends with advice', async (message, next) => {
    const { err } = await failing(new PerdureError('INVALID_INPUT', message));
    expect(err).toBe(`error INVALID_INPUT: ${message}\n${next && `${next}\n`}`);
  });

  test('[DOC6] help lists all environment variables', async () => {
    const { out } = await cli(['help', 'environment']);
    for (const name of Object.values(environment).flatMap(Object.keys)) expect(out).toContain(`  ${name}\n`);
  });

  test('[CLI9] help lists all exit codes, and each code has one meaning', async () => {
    const { out } = await cli(['help', 'exit-codes']);
    const codes = Object.values(exitTable).map(({ code }) => code);
    expect(codes).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 70, 130]);
    for (const code of codes) expect(out).toMatch(new RegExp(`^ {2}${code} `, 'm'));
  });
});

describe('in any case', () => {
  test('[CLI12] a command that writes nothing shows progress on a terminal, in plain characters, until its first output', async () => {
    const slowly: World['openRuntime'] = async (options) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return openRuntime({ worker: false, ...options, store: openMemoryStore(database) });
    };
    const err = recorder();
    const answer = await cli(['ls'], {
      openRuntime: slowly,
      err: { ...err, patienceMs: 10, style: (_, text) => text },
    });
    expect(answer.out).toContain('no sessions yet');
    expect(err.bytes().toString()).toMatch(/^(\rperdure ls, 0 s)+\r {15}\r$/);
    const piped = recorder(Number.POSITIVE_INFINITY);
    await cli(['ls'], { openRuntime: slowly, err: piped });
    expect(piped.bytes().toString()).toBe('');
  });

  test('[CLI1] a defect is reported with an id and exits 70, and its stack is shown on demand', async () => {
    const openRuntime = () => Promise.reject(new TypeError('boom at postgres://ann:s3cr3t@db'));
    const quiet = await cli(['ls', '--store', 'postgres://ann:s3cr3t@db'], { openRuntime });
    expect(quiet).toMatchObject({ code: 70, out: '' });
    expect(quiet.err).toMatch(/^error DEFECT: boom at postgres:\/\/…@db \(defect [0-9a-f]{8}\)/);
    expect(quiet.err).not.toContain('run-cli.test.ts');
    const loud = await cli(['ls', '--json', '--store', 'postgres://ann:s3cr3t@db'], {
      openRuntime,
      env: { PERDURE_DEBUG: '1' },
    });
    expect(loud.err).toContain('run-cli.test.ts');
    expect(JSON.parse(loud.err.split('\n')[0]!)).toMatchObject({
      error: { code: 'DEFECT', details: { id: expect.stringMatching(/^\w{8}$/) } },
    });
    expect(quiet.err + loud.err).not.toContain('s3cr3t');
  });

  test('[CLI1] the runtime is closed after success, after failure and when the reader has gone', async () => {
    let open = 0;
    const counting: Partial<World> = {
      openRuntime: async (options) => {
        const runtime = await openRuntime({ worker: false, ...options, store: openMemoryStore(database) });
        open += 1;
        return { ...runtime, close: () => runtime.close().finally(() => (open -= 1)) };
      },
    };
    const gone: Terminal = { ...recorder(), write: () => Promise.reject(new OutputClosed()) };
    const missing = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';
    expect((await cli(['ls'], counting)).code).toBe(0);
    expect((await cli(['show', missing], counting)).code).toBe(5);
    expect((await cli(['ls'], { ...counting, out: gone })).code).toBe(0);
    expect(open).toBe(0);
  });

  test('the store and the workspace may come from the environment, and options take precedence', async () => {
    const asked: unknown[] = [];
    const world: Partial<World> = {
      env: { PERDURE_STORE: 'from-env', PERDURE_WORKSPACE: 'team' },
      openRuntime: (options) => {
        asked.push(options.store);
        return openRuntime({ worker: false, ...options, store: openMemoryStore(database) });
      },
    };
    await (await openRuntime({ store: openMemoryStore(database) })).workspaces.add('team');
    expect((await callCli(['open'], world)).code).toBe(0);
    expect((await callCli(['open', '--store', 'other', '--workspace', 'local'], world)).code).toBe(0);
    expect(asked).toEqual(['from-env', 'other']);
    expect([...database.workspaces.keys()]).toEqual(expect.arrayContaining(['team', 'local']));
    expect((await cli(['ls', '--workspace', 'Not a name'])).err).toContain('is not the name of a workspace');
  });
});
