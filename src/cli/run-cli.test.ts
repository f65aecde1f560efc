import { beforeEach, describe, expect, test } from 'vitest';
import { callCli, recorder } from '../../test/call-cli.ts';
import { openRuntime } from '../runtime.ts';
import type { MessageInput } from '../schema/message.ts';
import { type MemoryDatabase, newMemoryDatabase } from '../testing/memory-database.ts';
import { openMemoryStore } from '../testing/memory-store.ts';
import { commands } from './commands/registry.ts';
import { displayWidth } from './display-width.ts';
import { OutputClosed, type Terminal } from './terminal.ts';
import type { World } from './world.ts';

let database: MemoryDatabase;
beforeEach(() => {
  database = newMemoryDatabase();
});

/** Runs a call on a terminal of 80 columns, or on another. */
const cli = (argv: readonly string[], world: Parameters<typeof callCli>[1] = {}) =>
  callCli([...argv, ...(argv.includes('--store') ? [] : ['--store', 'memory'])], {
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

const hostile = 'x\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u007fy';
const long = 'word '.repeat(60).trim();

describe('on a terminal of 80 columns', () => {
  test('[CLI1] no line of any help is wider than the terminal', async () => {
    for (const argv of [['help'], ...commands.map(({ name }) => ['help', name])]) {
      const { code, out } = await cli(argv);
      expect(code).toBe(0);
      for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
    }
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
      // biome-ignore lint/suspicious/noControlCharactersInRegex: our own two styles are taken out, no other control may be left
      expect(raw.replaceAll(/\u001b\[(1|22)m|\n/g, '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });

  test('a transcript shows text whole and everything else on a short line', async () => {
    const id = await sessionWith(
      { role: 'user', content: 'Read it.\n\n    code();' },
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', tool: 'read', input: { path: 'a.ts' } }] },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c1', tool: 'read', outcome: 'ok', output: 'text' }] },
      { role: 'assistant', content: 'It says "text".' },
    );
    const { out } = await cli(['show', id]);
    expect(out.split('\n').slice(5)).toEqual([
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

  test('in a pipe nothing is cut', async () => {
    await cli(['open', '--title', long]);
    expect((await cli(['ls'], { columns: Number.POSITIVE_INFINITY })).out).toContain(long);
  });

  test('an error is wrapped and begins with its code', async () => {
    const { code, err } = await cli(['show', 'ses_nonsense']);
    expect(code).toBe(2);
    expect(err).toMatch(/^error INVALID_INPUT: "ses_nonsense" is not a session: .*\n.+\n$/);
    for (const line of err.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('an export to a terminal needs a file, and stdout cannot hold a bundle and an answer', async () => {
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

describe('whatever happens', () => {
  test('[CLI1] a defect is told with an id and exits 70; its stack is shown on demand', async () => {
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

  test('[CLI1] the runtime is closed after success, failure and a reader that has gone', async () => {
    let open = 0;
    const counting: Partial<World> = {
      openRuntime: async (options) => {
        const runtime = await openRuntime({ ...options, store: openMemoryStore(database) });
        open += 1;
        return { ...runtime, close: () => runtime.close().finally(() => (open -= 1)) };
      },
    };
    const gone: Terminal = { ...recorder(), write: () => Promise.reject(new OutputClosed()) };
    const missing = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';
    expect((await cli(['ls'], counting)).code).toBe(0);
    expect((await cli(['show', missing], counting)).code).toBe(1);
    expect((await cli(['ls'], { ...counting, out: gone })).code).toBe(0);
    expect(open).toBe(0);
  });

  test('a store and a workspace may come from the environment, and an option goes before it', async () => {
    const asked: unknown[] = [];
    const world: Partial<World> = {
      env: { PERDURE_STORE: 'from-env', PERDURE_WORKSPACE: 'team' },
      openRuntime: (options) => {
        asked.push(options.store);
        return openRuntime({ ...options, store: openMemoryStore(database) });
      },
    };
    expect((await callCli(['open'], world)).code).toBe(0);
    expect((await callCli(['open', '--store', 'other', '--workspace', 'local'], world)).code).toBe(0);
    expect(asked).toEqual(['from-env', 'other']);
    expect([...database.workspaces.keys()]).toEqual(['team', 'local']);
    expect((await cli(['ls', '--workspace', 'Not a name'])).err).toContain('is not the name of a workspace');
  });
});
