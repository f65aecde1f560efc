import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SessionEvent } from '../../src/index.ts';
import { callCli } from '../support/cli/call-cli.ts';
import { olderNode } from '../support/cli/older-node.ts';
import { type CallOptions, environment, runPerdure, startPerdure, worldOf } from '../support/cli/perdure-command.ts';

vi.setConfig({ testTimeout: 120_000 }); // many processes, perhaps on a busy machine

const library = new URL('../../src/index.ts', import.meta.url).href;
const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

/** A configuration whose tool `slow` finishes once the file `go` exists, in any process and on any attempt. */
const config = `
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from '${new URL('../../node_modules/zod/index.js', import.meta.url).href}';
import { defineAgent, defineScript, defineTool } from '${library}';
import { subagent } from '${new URL('../../src/tools/index.ts', import.meta.url).href}';
const slow = defineTool({
  name: 'slow', input: z.object({}), effects: 'idempotent',
  execute: async (_, { signal, progress }) => {
    for (let n = 0; !existsSync('go'); n++) { progress('round ' + n); await sleep(20, undefined, { signal }); }
    return 'went';
  },
});
const wipe = defineTool({ name: 'wipe', input: z.object({ what: z.string() }), approval: true, execute: ({ what }) => 'wiped ' + what });
const ask = defineTool({ name: 'ask', input: z.object({}), effects: 'none', question: () => ({ text: 'Which port?' }), execute: () => undefined });
const fact = defineTool({ name: 'fact', input: z.object({}), effects: 'none', execute: () => 1, change: (draft) => { draft.facts.port = 80; } });
const evil = defineTool({ name: 'evil', input: z.object({}), effects: 'none', execute: () => '\\u001b[2Jout' });
const call = (word, tool, input = {}) => [
  { when: { answers: 0, userMatches: word }, reasoning: 'I call it.', text: 'Now ' + tool + '.', calls: [{ tool, input }] },
  { when: { answers: 1, userMatches: word, last: { outcome: 'denied' } }, text: 'Left alone.' },
];
const steps = [
  { when: { answers: 0, userMatches: 'hostile' }, text: 'a\\u001b[2Jb\\u202ec' , calls: [{ tool: 'evil', input: {} }] },
  { when: { answers: 0, userMatches: 'long' }, text: 'word '.repeat(60).trim() + '.' },
  ...call('slow', 'slow'), ...call('wipe', 'wipe', { what: 'disk' }), ...call('question', 'ask'), ...call('fact', 'fact'),
  { when: { userMatches: 'faster' }, text: 'Faster, then.' },
  { text: 'Done.' },
];
const script = defineScript({ name: 'test', everyTurn: true, steps });
const bossScript = defineScript({ name: 'boss', steps: [{ calls: [{ tool: 'helper', input: { task: 'wipe it' } }] }, { text: 'Thanks.' }] });
const brokenScript = defineScript({ name: 'broken', steps: [{ calls: [{ tool: 'fact', input: {} }] }, { text: 'never' }] });
const agent = defineAgent({ name: 'tester', version: 1, model: script, instructions: 'You test.', tools: [slow, wipe, ask, fact, evil] });
const helper = defineAgent({ name: 'helper', version: 1, model: script, tools: [wipe] });
const boss = defineAgent({ name: 'boss', version: 1, model: bossScript, tools: [subagent(helper)] });
const broken = defineAgent({ name: 'broken', version: 1, model: brokenScript, policies: { maxSteps: 1 }, tools: [fact] });
export default {
  agents: [agent, broken, helper, boss],
};
`;

const home = process.cwd();
let cwd: string;
const running = new Set<ChildProcessWithoutNullStreams>();
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'perdure-cli-runs-'));
  process.chdir(cwd);
});
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
  process.chdir(home);
  rmSync(cwd, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/**
 * Runs the command in this process, which is many times cheaper. Background work that the command starts is a real
 * process.
 */
const perdure = async (args: readonly string[], options?: CallOptions) => {
  const { code, raw, err } = await callCli(args, {
    ...worldOf(options),
    startDetached: (rest, { folder, env }) =>
      spawn(process.execPath, [bin, ...rest], { cwd: folder, env, detached: true, stdio: 'ignore' }).unref(),
  });
  return { code, out: raw, err };
};
const inOwnProcess = (args: readonly string[], options: CallOptions = {}) => runPerdure(args, { cwd, ...options });
const said = async (args: readonly string[]): Promise<string> => {
  const { code, out, err } = await perdure(args);
  expect({ code, err: code === 0 ? '' : err }, args.join(' ')).toEqual({ code: 0, err: '' });
  return out;
};
const answered = async (args: readonly string[]) => JSON.parse(await said([...args, '--json']));
const configured = (text = config, name = 'perdure.config.ts'): void => writeFileSync(join(cwd, name), text);
const newTester = async (): Promise<string> => (await said(['open', '--agent', 'tester'])).trim();
const eventsOf = (text: string): SessionEvent[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const logOf = async (id: string): Promise<SessionEvent[]> => eventsOf(await said(['log', id, '--json']));
const endOf = async (id: string): Promise<string | undefined> => {
  const ends = (await logOf(id)).filter((event) => event.type === 'run.ended');
  return ends.at(-1)?.payload.status;
};

/** A command that is still running, with its output so far. */
const started = (child: ChildProcessWithoutNullStreams) => {
  running.add(child);
  let text = '';
  const seen = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
      for (const look of seen) look();
    });
  }
  const closed = once(child, 'close').then(([code]) => code as number | null);
  return {
    child,
    closed,
    text: () => stripVTControlCharacters(text),
    raw: () => text,
    /** Waits until the output after position `from` contains `wanted`, and returns the position after it. */
    says: (wanted: string, from = 0) =>
      new Promise<number>((resolve, reject) => {
        const look = (): void => {
          const at = stripVTControlCharacters(text).indexOf(wanted, from);
          if (at < 0) return;
          seen.delete(look);
          resolve(at + wanted.length);
        };
        seen.add(look);
        void closed.then(() => reject(new Error(`the command ended without printing ${wanted}: ${text}`)));
        look();
      }),
  };
};
const start = (args: readonly string[], env: Record<string, string> = {}) => started(startPerdure(args, { cwd, env }));
/** Runs the command on a terminal of 80 columns. */
const onTerminal = (args: readonly string[], env: Record<string, string> = {}) => {
  const quoted = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
  return started(
    spawn('script', ['-qfec', `stty cols 80; exec ${quoted}`, '/dev/null'], {
      cwd,
      env: { ...environment, TERM: 'xterm', ...env },
    }),
  );
};
const widest = (text: string): number =>
  Math.max(...text.split(/\r?\n/).map((line) => line.split('\r').at(-1)!.length));

describe('configuration', () => {
  test('[CLIR17] without a configuration the demo agent answers and says that it is a script', async () => {
    const { out, err } = await perdure(['agents']);
    expect(out).toMatch(/^AGENT .*\ndemo +1 +scripted\//);
    expect(err).toContain('a script, not a model');
    const answer = await inOwnProcess(['send', '--new', 'What is 2 + 2?']);
    expect(answer).toMatchObject({ code: 0, out: expect.stringContaining('I am a script, not a model') });
  });

  test('[CLIR1] a configuration in the current folder, or one named by --config, sets the agents, the store and the data folder', async () => {
    configured();
    expect((await answered(['agents'])).agents).toMatchObject([
      { name: 'tester', version: 1, model: 'scripted/test', tools: ['slow', 'wipe', 'ask', 'fact', 'evil'] },
      { name: 'broken' },
      { name: 'helper' },
      { name: 'boss' },
    ]);
    configured(
      config.replace('export default {', `export default { store: 'sqlite:own.db', data: 'work',`),
      'other.ts',
    );
    await said(['send', '--new', 'hi', '--agent', 'tester', '--config', 'other.ts']);
    expect(existsSync(join(cwd, 'own.db'))).toBe(true);
    expect((await answered(['ls', '--config', 'other.ts'])).sessions).toHaveLength(1);
  });

  test('[CLIR1] a configuration that imports perdure gets the running perdure, even where it is not installed', async () => {
    const plain = config
      .replace(/from '.*\/zod\/index\.js'/, `from 'zod'`)
      .replace(library, 'perdure')
      .replace(/from '.*\/src\/tools\/index\.ts'/, `from 'perdure/tools'`);
    expect(plain).not.toContain('file:');
    configured(plain);
    const { out, err } = await inOwnProcess(['agents', '--json']);
    expect({ first: JSON.parse(out).agents[0], err }).toMatchObject({ first: { name: 'tester' }, err: '' });
  });

  test.each([
    ['a missing file', undefined, 5, /FILE_NOT_FOUND.*no file wrong\.ts/],
    ['a syntax error', 'export default {', 2, /INVALID_INPUT.*wrong\.ts cannot be loaded/],
    ['a missing import', `import './nothing.ts';`, 2, /INVALID_INPUT.*wrong\.ts cannot be loaded.*; fix it\b/],
    ['no default export', 'export const agents = [];', 2, /INVALID_INPUT.*no default export/],
    ['no agents', 'export default { agents: [] };', 2, /INVALID_INPUT.*names no agents/],
    ['a wrong field', 'export default { agent: [] };', 2, /INVALID_INPUT.*did you mean "agents"/],
    ['an invalid agent', `export default { agents: [{ name: 'x' }] };`, 2, /AGENT_INVALID.*agents\[0\]/],
    [
      'an agent definition that fails',
      `import { defineAgent } from '${library}'; export default { agents: [defineAgent({ name: '', version: 1 })] };`,
      2,
      /AGENT_INVALID.*wrong\.ts/,
    ],
  ])("[CLIR15] %s is reported with the file's name, and no store is created", async (_, text, code, expected) => {
    if (text !== undefined) configured(text, 'wrong.ts');
    const { err, ...ended } = await perdure(['send', '--new', 'hi', '--config', 'wrong.ts']);
    expect(ended.code).toBe(code);
    expect(err.replaceAll('\n', ' ')).toMatch(expected);
    expect(existsSync(join(cwd, '.perdure'))).toBe(false);
  });

  test.each([
    ['TypeScript', 'wrong.ts', 'export default {\n  agents: [defineAgent({ name: 1 \n};\n', 'wrong.ts:3:2'],
    ['imported TypeScript', 'other.ts', 'export const a: = 1;\n', 'other.ts:1:17'],
    ['imported JavaScript', 'far.mjs', '\nexport const a = ;\n', 'far.mjs:2:18'],
    ['an error thrown by an import', 'far.mjs', '\n  nothing.at();\n', 'far.mjs:2:3'],
    ['TypeScript syntax that Node cannot strip', 'wrong.ts', '\nenum Port { A }\n', 'wrong.ts:2:1'],
    ['a duplicate name in TypeScript', 'wrong.ts', 'const a = 1;\nconst a = 2;\n', 'wrong.ts:2:7'],
    ['JavaScript', 'wrong.mjs', 'export default {\n  agents: [ },\n};\n', 'wrong.mjs:2:13'],
    ['imported TypeScript that ends too early', 'other.ts', 'if (1) {\n  nothing();\n', 'other.ts:2'],
    ['imported JavaScript that ends too early', 'far.mjs', 'if (1) {\n  nothing();\n', 'far.mjs:3'],
    ['an import that perdure does not export', 'wrong.ts', `\nimport { nothing } from 'perdure';\n`, 'wrong.ts:2:10'],
    ['an error that it throws', 'wrong.ts', 'const a: number = 1;\n  nothing.at();\n', 'wrong.ts:2:3'],
  ])('[CLIR15] %s that cannot be loaded is reported with its line', async (_, file, text, place) => {
    configured(`import './other.ts';`, 'wrong.ts');
    configured(`import './far.mjs';`, 'other.ts');
    configured(text, file);
    const { code, err } = await inOwnProcess(['agents', '--config', file.startsWith('wrong') ? file : 'wrong.ts']);
    expect(code).toBe(2);
    expect(err).toMatch(/^error INVALID_INPUT: wrong\.m?[jt]s cannot be loaded: \w+Error: .* at .*; fix it there\n$/);
    expect(err).toContain(` at ${place}; `);
  });

  test.each([
    [
      'awaits a promise that never settles',
      `await new Promise(() => {});`,
      'cannot be loaded: it awaits something that never',
    ],
    [
      'awaits a promise that never settles, and throws meanwhile',
      `setTimeout(() => { throw new RangeError('boom'); });\nawait new Promise(() => {});`,
      'cannot be loaded: RangeError: boom at wrong.ts:2:26; fix it there',
    ],
    [
      'ends the process',
      `process.exit(0);`,
      'cannot be loaded: Error: it ends the process with process.exit(0) at wrong.ts:2:9',
    ],
    [
      'ends the process in a timer, while it awaits',
      `setTimeout(() => process.exit(0));\nawait new Promise(() => {});`,
      'cannot be loaded: Error: it ends the process with process.exit(0) at wrong.ts:2:26; fix it there',
    ],
    [
      'ends the process in a timer, after loading',
      `setTimeout(() => process.exit(0), 1000);`,
      'called process.exit, directly or through an import, before the command was done: remove that call',
    ],
    [
      'throws in a timer',
      `setTimeout(() => { throw new RangeError('boom'); });`,
      'failed after it was loaded: RangeError: boom at wrong.ts:2:26; fix it there',
    ],
    [
      'leaves a rejection unhandled',
      `setTimeout(async () => { throw new RangeError('boom'); });`,
      'failed after it was loaded: RangeError: boom at wrong.ts:2:32; fix it there',
    ],
    [
      'throws a value that is not an Error',
      `setTimeout(() => { throw 'boom'; });`,
      'failed after it was loaded: Error: boom; fix',
    ],
    [
      'throws a value that cannot be converted to a string',
      `setTimeout(() => { throw Object.create(null); });`,
      'failed after it was loaded: Error: [Object: null prototype] {}; fix',
    ],
    [
      'throws such a value immediately',
      `throw Object.create(null);`,
      'cannot be loaded: Error: [Object: null prototype] {}; fix',
    ],
    [
      'throws an error without a stack',
      `setTimeout(() => { throw Object.assign(new RangeError('boom'), { stack: 5 }); });`,
      'failed after it was loaded: RangeError: boom; fix',
    ],
    [
      'later imports a module that cannot be loaded',
      `setTimeout(() => import('./late.ts'));`,
      'failed after it was loaded: SyntaxError: ',
    ],
  ])('[CLIR16] a configuration that %s is named as the cause', async (_, text, expected) => {
    configured('if (1) {\n', 'late.ts');
    const agents = `[defineAgent({ name: 'a', version: 1, model: 'scripted/a' })]`;
    configured(`import { defineAgent } from 'perdure'; export default { agents: ${agents} };\n${text}`, 'wrong.ts');
    const { code, err } = await inOwnProcess(['worker', '--config', 'wrong.ts']);
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining(`error INVALID_INPUT: wrong.ts ${expected}`),
    });
  });

  test('[CLIR1] a configuration that never finishes loading fails on a terminal too', async () => {
    configured('await new Promise(() => {});', 'wrong.ts');
    const waiting = onTerminal(['agents', '--config', 'wrong.ts']);
    expect(await waiting.closed).toBe(2);
    expect(waiting.text()).toContain('wrong.ts cannot be loaded: it awaits');
  });
});

describe('send', () => {
  test('[CLIR2, CLIR18, PIPE1] the final answer goes to stdout and everything else to stderr, and the exit code says how the run ended', async () => {
    configured();
    const id = await newTester();
    const { code, out, err } = await perdure(['send', id, 'a fact please']);
    expect({ code, out }).toEqual({ code: 0, out: 'Done.\n' });
    expect(err).toMatch(/I call it\.\nNow fact\.\n→ fact \{\}\n← fact ok, \d+ ms: 1\n/);
    const failed = await inOwnProcess(['send', '--new', 'go', '--agent', 'broken']);
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('failed MAX_STEPS') });
    const waiting = await perdure(['send', id, 'wipe it']);
    expect(waiting).toMatchObject({ code: 4, err: expect.stringMatching(/perdure approve apr_\w+\n/) });
    expect(await perdure(['cancel', id])).toMatchObject({ code: 0 });
    expect(await perdure(['attach', id])).toMatchObject({ code: 3, err: expect.stringContaining('cancelled') });
  });

  test('[CLIR2] send accepts text from stdin, files, a key and a policy, and its JSON lines equal those of log', async () => {
    configured();
    const id = await newTester();
    writeFileSync(join(cwd, 'a.txt'), 'attached');
    writeFileSync(join(cwd, 'p.png'), Buffer.from('89504e47', 'hex'));
    const args = ['send', id, '-', '--file', 'a.txt', '--file', 'p.png', '--key', 'k1', '--policy', 'reject', '--json'];
    const { code, out } = await inOwnProcess(args, { stdin: 'from stdin\n' });
    expect(code).toBe(0);
    const events = eventsOf(out);
    expect(await logOf(id)).toEqual([...(await logOf(id)).slice(0, events[0]!.seq - 1), ...events]);
    expect(events[0]).toMatchObject({
      type: 'input.admitted',
      payload: {
        message: {
          content: [
            { type: 'text', text: 'from stdin' },
            { type: 'file', name: 'a.txt', mediaType: 'text/plain', data: 'YXR0YWNoZWQ=' },
            { type: 'file', name: 'p.png', mediaType: 'image/png', data: 'iVBORw==' },
          ],
        },
      },
    });
    expect((await perdure(args, { stdin: 'from stdin\n' })).out).toBe(out);
  });

  test.each([
    [['send'], /needs SESSION, or --new/],
    [['send', 'ses_', 'hi'], /names no session/],
    [['send', '--new'], /needs TEXT/],
    [['send', '--new', ''], /text is empty/],
    [['send', '--new', 'a', 'b'], /only TEXT/],
    [['send', '--new', 'a', '--policy', 'later'], /--policy is queue, steer/],
    [['send', '--new', 'a', '--not-before', 'soon'], /--not-before is a future date .* got "soon"/],
    [['send', '--new', 'a', '--not-before', '2020-01-01'], /--not-before is a future date .* got "2020-01-01"/],
    [['send', '--new', 'a', '--agent', 'nobody'], /no agent "nobody"/],
    [['send', '--new', 'a'], /which agent\?/],
    [['attach', 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a', '--after', '-1'], /--after/],
    [['worker', '--concurrency', '0'], /--concurrency/],
    [['deny', 'apr_01jd3v8m9k5x7q2w4e6r8t0y1a'], /needs --comment/],
    [['approve', 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a'], /names no approval/],
    [['handoff', 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a', '--to', 'nobody'], /--to is agent, human/],
    [['limit', 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a'], /needs --tokens/],
    [['limit', 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a', '--usd', 'much'], /--usd is an amount/],
  ])('[CLIR2] %j is an invalid call and creates no store', async (args, expected) => {
    configured();
    const { code, err } = await perdure(args);
    expect({ code, err: err.replaceAll('\n', ' ') }).toEqual({ code: 2, err: expect.stringMatching(expected) });
    expect(existsSync(join(cwd, '.perdure'))).toBe(false);
  });

  test('[WORKER6] sending a scheduled input returns immediately, the input delays no other, and no worker starts it early', async () => {
    configured();
    const id = await newTester();
    const before = Date.now();
    const { session, run } = await answered(['send', id, 'not yet', '--not-before', '1h']);
    const after = Date.now();
    expect(session).toBe(id);
    expect(await said(['send', id, 'at once'])).toBe('Done.\n');
    await said(['worker', '--once']);
    const log = await logOf(id);
    const notBefore = log.flatMap((event) => (event.type === 'input.admitted' ? (event.payload.notBefore ?? []) : []));
    expect(notBefore).toHaveLength(1);
    expect(notBefore[0]).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(notBefore[0]).toBeLessThanOrEqual(after + 3_600_000);
    expect(log.filter((event) => event.run === run).map(({ type }) => type)).toEqual(['input.admitted']);
  });

  test('[CLIR2] a session whose agent is not in the configuration rejects inputs', async () => {
    configured();
    const id = await newTester();
    rmSync(join(cwd, 'perdure.config.ts'));
    const { code, err } = await perdure(['send', id, 'hi']);
    expect({ code, err }).toEqual({ code: 8, err: expect.stringContaining('AGENT_VERSION_UNAVAILABLE') });
    expect(await logOf(id)).toHaveLength(2);
  });
});

describe('leaving a run and coming back', () => {
  test('[CLIR3] Ctrl-C leaves the run to a background process, which finishes it', async () => {
    configured();
    const id = await newTester();
    const sending = start(['send', id, 'slow one']);
    await sending.says('→ slow');
    sending.child.kill('SIGINT');
    expect(await sending.closed).toBe(130);
    expect(sending.text()).toContain(`perdure attach ${id}`);
    writeFileSync(join(cwd, 'go'), '');
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
    expect(await answered(['verify', id])).toMatchObject({ sessions: [{ ok: true }] });
  });

  test('[CLIR3] a second Ctrl-C cancels the run', async () => {
    configured();
    const id = await newTester();
    const sending = start(['send', id, 'slow one']);
    await sending.says('→ slow');
    sending.child.kill('SIGINT');
    await sending.says('Ctrl-C again cancels it');
    sending.child.kill('SIGINT');
    expect(await sending.closed).toBe(3);
    expect(await endOf(id)).toBe('cancelled');
  });

  test('[CLIR3] --detach returns immediately; a closed output pipe, SIGTERM and SIGHUP leave the run alive', async () => {
    configured();
    const id = await newTester();
    const { session, run } = JSON.parse((await inOwnProcess(['send', id, 'slow one', '--detach', '--json'])).out);
    expect({ session, run }).toEqual({ session: id, run: expect.stringMatching(/^run_/) });
    const [term, hangup] = [start(['attach', id]), start(['attach', id])];
    await Promise.all([term.says('→ slow'), hangup.says('→ slow')]);
    term.child.kill('SIGTERM');
    hangup.child.kill('SIGHUP');
    expect(await Promise.all([term.closed, hangup.closed])).toEqual([130, 130]);
    const piped = start(['attach', id]);
    await piped.says('→ slow');
    piped.child.stdout.destroy();
    piped.child.stderr.destroy();
    writeFileSync(join(cwd, 'go'), '');
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
  });

  test.each([
    ['send', (id: string) => ['send', id, 'slow one'], ''],
    ['chat', (id: string) => ['chat', id], 'slow one\n'],
  ])('[CLIR3] closing the terminal during %s leaves the run alive', async (_, args, typed) => {
    configured();
    const id = await newTester();
    const closing = onTerminal(args(id));
    closing.child.stdin.write(typed);
    await closing.says('→ slow');
    closing.child.kill('SIGKILL'); // kills the terminal itself
    await closing.closed;
    writeFileSync(join(cwd, 'go'), '');
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
  });

  /** Starts the command with an older Node, which runs ours as its child. Both are in a new process group. */
  const startGroup = (args: readonly string[]) => {
    const [node, ...options] = olderNode(cwd);
    const child = spawn(node!, [...options, bin, ...args], { cwd, env: environment, detached: true });
    return { ...started(child), signal: () => process.kill(-child.pid!, 'SIGTERM') };
  };

  test('[CLIR3] SIGTERM to a launcher and its child is handled as one signal and leaves the run alive', async () => {
    configured();
    const id = await newTester();
    const sending = startGroup(['send', id, 'slow one']);
    await sending.says('→ slow');
    sending.signal();
    expect(await sending.closed).toBe(130);
    writeFileSync(join(cwd, 'go'), '');
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
  });

  test('[CLIR3] SIGTERM to a launcher and its child lets a worker finish its step', async () => {
    configured();
    const id = await newTester();
    const working = startGroup(['worker']);
    await working.says('at work for');
    const { run } = await answered(['send', id, 'slow one', '--detach']);
    const attached = start(['attach', id]);
    await attached.says('→ slow');
    working.signal();
    await working.says('finishing the current steps');
    await sleep(600); // by now the second copy of the signal would have arrived
    writeFileSync(join(cwd, 'go'), '');
    expect(await working.closed).toBe(0);
    const calls = (await logOf(id)).filter(({ type }) => type.startsWith('tool.'));
    expect(calls.map(({ type }) => type)).toEqual(['tool.called', 'tool.completed']);
    expect(calls).toMatchObject([{ run }, { run }]);
  });

  test('[CLIR4] a client that disconnects at random and attaches again sees every event once and in order', async () => {
    configured();
    const id = await newTester();
    const { run } = await answered(['send', id, 'slow one', '--detach']);
    const seen: SessionEvent[] = [];
    for (let attempt = 0; attempt < 6; attempt++) {
      const child = startPerdure(['attach', id, '--json', '--after', String(seen.at(-1)?.seq ?? 0)], { cwd });
      running.add(child);
      let text = '';
      child.stdout.on('data', (chunk) => {
        text += chunk;
      });
      if (attempt === 4) writeFileSync(join(cwd, 'go'), '');
      if (attempt < 5) setTimeout(() => child.kill('SIGKILL'), 700 * (1 + Math.random()));
      await once(child, 'close');
      seen.push(...eventsOf(text.slice(0, text.lastIndexOf('\n') + 1)));
    }
    expect(seen).toEqual(await logOf(id));
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
    expect(seen.at(-1)).toMatchObject({ type: 'run.ended', run, payload: { status: 'succeeded' } });
  });

  test('[CLIR19, CLIR29] attach to an idle session says that it is idle and how to send an input', async () => {
    configured();
    const id = await newTester();
    expect(await perdure(['attach', id])).toEqual({
      code: 0,
      out: '',
      err: `nothing is running or waiting; to begin:\n  perdure send ${id} TEXT\n`,
    });
    expect(await perdure(['attach', id, '--json'])).toEqual({ code: 0, out: '', err: '' });
    await said(['send', id, 'not yet', '--not-before', '2100-01-01T00:00Z']);
    expect((await perdure(['attach', id])).err).toContain(
      'its next input starts at 2100-01-01T00:00:00.000Z, if a worker is running then',
    );
    await said(['send', id, 'hi']);
    expect((await perdure(['attach', id])).err).not.toMatch(/nothing|begins/);
    const { err } = await inOwnProcess(['chat', '--agent', 'tester']);
    expect(err).not.toContain('nothing is running');
  });

  test('[CLIR19] attach executes a run that no worker has claimed', async () => {
    configured();
    const id = await newTester();
    const sending = start(['send', id, 'slow one']);
    await sending.says('→ slow');
    sending.child.kill('SIGKILL');
    await sending.closed;
    writeFileSync(join(cwd, 'go'), '');
    const { code, out, err } = await perdure(['attach', id]);
    expect({ code, out }).toEqual({ code: 0, out: 'Done.\n' });
    expect(err).toMatch(/> slow one\n.*attempt 2.*← slow ok/s);
  });
});

describe('approvals, questions, budgets, handoffs', () => {
  test('[CLIR5, CLIR20, APPR1] an approval from another process lets the waiting run continue', async () => {
    configured();
    const id = await newTester();
    const waiting = await perdure(['send', id, 'wipe it']);
    const [, approval = ''] = /perdure approve (apr_\w+)/.exec(waiting.err) ?? [];
    expect(await said(['approvals'])).toContain(`perdure approve ${approval}`);
    expect((await answered(['approvals', id])).sessions).toMatchObject([
      { session: id, approvals: [{ approval, tool: 'wipe' }] },
    ]);
    expect(await inOwnProcess(['approve', approval])).toMatchObject({ code: 0, out: `${approval} is approved\n` });
    const { code, out, err } = await inOwnProcess(['attach', id]);
    expect({ code, out }).toEqual({ code: 0, out: 'Done.\n' });
    expect(err).toMatch(/approved by member:local\n→ wipe .*\n← wipe ok.*wiped disk/);
    expect(await said(['approve', approval])).toBe(`${approval} is approved\n`);
    expect(await perdure(['deny', approval, '--comment', 'too late'])).toMatchObject({
      code: 6,
      err: expect.stringContaining('APPROVAL_SETTLED'),
    });
    expect(await said(['approvals'])).toBe('nothing is waiting for a person\n');
  });

  test('[CLIR5] a denial with its reason, and an answer, let the run continue in the background', async () => {
    configured();
    const id = await newTester();
    const waiting = await perdure(['send', id, 'wipe it']);
    const [, approval = ''] = /perdure approve (apr_\w+)/.exec(waiting.err) ?? [];
    await said(['deny', approval, '--comment', 'not today']);
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
    const asked = await perdure(['send', id, 'question time']);
    const [, call = ''] = /perdure answer ses_\w+ (\S+) TEXT/.exec(asked.err) ?? [];
    await said(['answer', id, call, '8080']);
    expect(await perdure(['attach', id])).toMatchObject({ code: 0, out: 'Done.\n' });
    const messages = (await logOf(id))
      .filter((event) => event.type === 'message.appended')
      .map(({ payload }) => payload);
    expect(JSON.stringify(messages)).toMatch(/not today.*8080/);
  });

  test('[CLIR5] a raised limit, and a session handed back to its agent, let the run continue', async () => {
    configured();
    const id = await newTester();
    await said(['limit', id, '--tokens', '10']);
    expect(await perdure(['send', id, 'hi'])).toMatchObject({
      code: 4,
      err: expect.stringMatching(/budget of 10 tokens has no room .*\n +perdure limit ses_/s),
    });
    await said(['limit', id, '--tokens', '1000000', '--active', '10min', '--usd', '2.5', '--turns', '100']);
    expect(await perdure(['attach', id])).toMatchObject({ code: 0, out: 'Done.\n' });
    await said(['handoff', id, '--to', 'human', '--reason', 'let me']);
    expect(await perdure(['send', id, 'hi again'])).toMatchObject({ code: 4, err: expect.stringContaining('handoff') });
    await said(['handoff', id, '--to', 'agent']);
    expect(await perdure(['attach', id])).toMatchObject({ code: 0, out: 'Done.\n' });
  });

  test('[CLIR5] an input sent to a paused session runs in the background when the session is resumed', async () => {
    configured();
    const id = await newTester();
    await said(['pause', id]);
    expect(await perdure(['send', id, 'hi', '--detach'])).toMatchObject({ code: 4 });
    expect(await perdure(['resume', id])).toMatchObject({
      code: 0,
      out: `${id} is active\n`,
      err: expect.stringContaining('it goes on in the background'),
    });
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
    await said(['pause', id]);
    expect(await perdure(['resume', id])).toMatchObject({ code: 0, err: '' });
  });

  test('[CLIR5, SUB3] send shows which session of a subagent waits, and the run continues when the wait is answered', async () => {
    configured();
    const id = (await said(['open', '--agent', 'boss'])).trim();
    const waiting = await perdure(['send', id, 'Go']);
    const [, child = ''] = /it waits for an approval .*\n +perdure attach (ses_\w+)/.exec(waiting.err) ?? [];
    expect({ code: waiting.code, isOther: child !== id }).toEqual({ code: 4, isOther: true });
    expect(await said(['show', id])).toContain('waits for approval');
    const [asks] = (await answered(['approvals'])).sessions;
    expect(asks).toMatchObject({ session: child, approvals: [{ tool: 'wipe' }] });
    await said(['approve', asks.approvals[0].approval]);
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
  });

  test('[CLIR5] a worker executes the available runs and then stops', async () => {
    configured();
    const id = await newTester();
    const working = start(['worker']);
    await working.says('at work for tester@1');
    writeFileSync(join(cwd, 'go'), '');
    await said(['send', id, 'slow one', '--detach']);
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
    working.child.kill('SIGINT');
    expect(await working.closed).toBe(0);
    expect(await perdure(['worker', '--once'])).toMatchObject({ code: 0 });
  });
});

describe('on a terminal', () => {
  test('[CLIR6] a terminal that follows a run asks for approvals and answers; lines fit its width', async () => {
    configured();
    const id = await newTester();
    const sending = onTerminal(['send', id, 'wipe it']);
    let at = await sending.says('allow wipe?');
    sending.child.stdin.write('perhaps\r');
    at = await sending.says('type y to allow it', at);
    at = await sending.says('allow wipe?', at);
    sending.child.stdin.write('n too long\r');
    await sending.says('Left alone.', at);
    expect(await sending.closed).toBe(0);
    expect(sending.raw()).toContain('\u001b[');
    expect(widest(sending.text())).toBeLessThanOrEqual(80);
    const asking = onTerminal(['send', id, 'question time']);
    await asking.says('your answer:');
    asking.child.stdin.write('8080\r');
    await asking.says('Done.');
    expect(await asking.closed).toBe(0);
  });

  test('[CLIR6] the prompt disappears when the approval is answered elsewhere', async () => {
    configured();
    const id = await newTester();
    const sending = onTerminal(['send', id, 'wipe it']);
    await sending.says('allow wipe?');
    const [{ approvals }] = (await answered(['approvals', id])).sessions;
    await said(['approve', approvals[0].approval]);
    await sending.says('Done.');
    expect(await sending.closed).toBe(0);
  });

  test('[CLIR6] control characters are shown as text, long text is wrapped, and NO_COLOR means no escape sequences', async () => {
    configured();
    const id = await newTester();
    const hostile = onTerminal(['send', id, 'hostile'], { NO_COLOR: '1' });
    expect(await hostile.closed).toBe(0);
    expect(hostile.text()).toContain('a\\x1b[2Jb\\u{202e}c');
    expect(hostile.text()).toContain('← evil ok');
    expect(hostile.raw()).not.toContain('\u001b[2J');
    expect(hostile.raw()).not.toContain('\u202e');
    expect(hostile.raw().replaceAll('\u001b[?2004', '')).not.toContain('\u001b');
    const long = onTerminal(['send', id, 'long']);
    expect(await long.closed).toBe(0);
    expect(widest(long.text())).toBeLessThanOrEqual(80);
  });

  test('[CLIR6] Ctrl-C on a terminal leaves the run to a background process, which continues', async () => {
    configured();
    const id = await newTester();
    const sending = onTerminal(['send', id, 'slow one']);
    await sending.says('round');
    sending.child.stdin.write('\u0003');
    await sending.says('goes on without this terminal');
    expect(await sending.closed).toBe(130);
    writeFileSync(join(cwd, 'go'), '');
    await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('succeeded');
  });
});

describe('chat', () => {
  test('[CLIR7, CLIR21] lines from a pipe are processed one after another, and chat commands take effect', async () => {
    configured();
    const lines = [
      'a fact',
      '/diff',
      'wipe it',
      'y',
      '/rewind 1',
      '/retry 1',
      '/diff',
      '/nonsense',
      '/rewind 99',
      '/pause',
      '/resume',
      '/help',
      '/fork',
      'hi',
      '/quit',
    ];
    const diffOfTurn = (turn: number) => [
      expect.stringMatching(/^fact port: 80 \("Now fact\."\); answer: "Done\."; \+1 call, \+\d+ tokens/),
      expect.stringMatching(/^ses_\w+ from seq/),
      'answer',
      '  + Done.',
      'messages',
      '  + user: a fact',
      'calls',
      '  + fact {}: ok',
      '    "Now fact."',
      'facts',
      '  + port: 80',
      `    by tool:fact, turn ${turn}: "Now fact."`,
      'used',
      '  model none → scripted/test',
      expect.stringMatching(/^ {2}requests 0 → 2, tokens 0 → \d+, time /),
      '  outcome none → succeeded',
    ];
    const { code, out, err } = await inOwnProcess(['chat', '--agent', 'tester'], { stdin: `${lines.join('\n')}\n` });
    expect({ code, out: out.split('\n').filter((line) => !/^ *\//.test(line)) }).toEqual({
      code: 0,
      out: ['Done.', ...diffOfTurn(1), 'Done.', 'Done.', ...diffOfTurn(3), 'Done.', ''],
    });
    expect(err).toMatch(/no such command.*POINT_NOT_FOUND.*session\.paused.*session\.resumed.*a fork of ses_/s);
    const { sessions } = await answered(['ls']);
    expect(sessions).toHaveLength(2);
  });

  test.each([
    ['a failed run', 'broken', ['hi'], 1],
    ['a run that succeeded after one that waited', 'tester', ['wipe it', 'n keep it'], 0],
    ['a waiting run', 'tester', ['hi', 'wipe it'], 4],
    ['none', 'tester', [], 0],
  ])('[CLIR23] a chat from a pipe exits with the code of its last run: %s', async (_, agent, lines, code) => {
    configured();
    for (const json of [[], ['--json']]) {
      const stdin = lines.map((line) => `${line}\n`).join('');
      expect(await inOwnProcess(['chat', '--agent', agent, ...json], { stdin })).toMatchObject({ code });
    }
  });

  test('[CLIR23] a chat from a pipe ends when an input is rejected, as `send` does', async () => {
    configured();
    const id = (await inOwnProcess(['open', '--agent', 'tester'])).out.trim();
    await inOwnProcess(['close', id]);
    for (const args of [
      ['chat', id],
      ['chat', id, '--json'],
    ]) {
      const { code, err } = await inOwnProcess(args, { stdin: 'hi\n' });
      expect({ code, err }).toMatchObject({
        code: 6,
        err: expect.stringContaining('cannot send while the session is closed'),
      });
    }
  });

  test('[CLIR22] with --json every input line is an input or an answer, and every outcome is a line of JSON', async () => {
    configured();
    const lines = ['hi', '', 'wipe it', 'perhaps', 'n keep it', '/quit is text', 'a question', '8080'];
    const { code, out, err } = await inOwnProcess(['chat', '--agent', 'tester', '--json'], {
      stdin: `${lines.join('\n')}\n`,
    });
    const outcomes = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const ended = (output: string) => ({ status: 'succeeded', output, run: expect.stringMatching(/^run_/) });
    expect({ code, outcomes }).toMatchObject({
      code: 0,
      outcomes: [
        ended('Done.'),
        { status: 'waiting', waitingFor: 'approval' },
        ended('Left alone.'),
        ended('Done.'),
        { status: 'waiting', waitingFor: 'question' },
        ended('Done.'),
      ],
    });
    expect(err).toBe('type y to allow it, n to deny it, or n and a reason\n');
    const [{ session }] = outcomes;
    const runs = (await logOf(session)).flatMap((event) => (event.type === 'input.admitted' ? event.payload.run : []));
    expect([...new Set(outcomes.map(({ run }) => run))]).toEqual(runs);
    await said(['close', session]);
    const refused = await inOwnProcess(['chat', session, '--json'], { stdin: 'hi\n' });
    expect({ code: refused.code, out: refused.out }).toEqual({ code: 6, out: '' });
    expect(JSON.parse(refused.err).error).toMatchObject({ code: 'ILLEGAL_TRANSITION' });
  });

  test('[CLIR7] a line typed during a run steers it; Ctrl-C leaves the run and says how to come back', async () => {
    configured();
    const chatting = onTerminal(['chat', '--agent', 'tester']);
    await chatting.says('you: ');
    const [, id = ''] = /(ses_\w+)/.exec(chatting.text()) ?? [];
    chatting.child.stdin.write('slow one\r');
    let at = await chatting.says('round');
    chatting.child.stdin.write('faster\r');
    await expect
      .poll(
        async () =>
          (await logOf(id)).some((event) => event.type === 'input.admitted' && event.payload.policy === 'steer'),
        { timeout: 60_000 },
      )
      .toBe(true);
    writeFileSync(join(cwd, 'go'), '');
    at = await chatting.says('Faster, then.', at);
    at = await chatting.says('you: ', at);
    rmSync(join(cwd, 'go'));
    chatting.child.stdin.write('slow again\r');
    at = await chatting.says('round', at);
    chatting.child.stdin.write('\u0003');
    await chatting.says(`perdure chat`, at);
    expect(await chatting.closed).toBe(130);
    writeFileSync(join(cwd, 'go'), '');
    await expect
      .poll(async () => (await logOf(id)).filter(({ type }) => type === 'run.ended').length, { timeout: 60_000 })
      .toBeGreaterThan(1);
    const back = onTerminal(['chat', id]);
    at = await back.says('you: ');
    back.child.stdin.write('\u0004');
    expect(await back.closed).toBe(0);
  });
});

test('[CLIR7] a second Ctrl-C in a chat cancels the run', async () => {
  configured();
  const chatting = onTerminal(['chat', '--agent', 'tester']);
  let at = await chatting.says('you: ');
  chatting.child.stdin.write('slow one\r');
  at = await chatting.says('round', at);
  chatting.child.stdin.write('\u0003');
  await chatting.says('Ctrl-C again cancels it', at);
  chatting.child.stdin.write('\u0003');
  expect(await chatting.closed).toBe(3);
  const [, id = ''] = /(ses_\w+)/.exec(chatting.text()) ?? [];
  expect(await endOf(id)).toBe('cancelled');
});

describe('demo', () => {
  const claims = [
    'its files are what its tools made of them',
    'the worker is dead, and nobody knows what became of its call',
    'the run has succeeded in another process',
    'the call happened once: its tool was asked what became of it, not run again',
    'each has files of its own, and the first has not changed',
    'both decisions are shown with their reasons',
    'it is answered by an index, not from the chat',
    'every event carries the hash of the one before it',
  ];
  const within = (text: string, ...parts: readonly string[]): void => {
    let from = 0;
    for (const part of parts) {
      const at = text.indexOf(part, from);
      expect(at, `${part} after ${text.slice(from, from + 200)}`).toBeGreaterThanOrEqual(0);
      from = at + part.length;
    }
  };

  test('[CLIR8, CLIR30] shows a kill, a takeover, a call that happened once, a fork, a diff, a query and a proof, and checks each claim', async () => {
    const { code, out, err } = await inOwnProcess(['demo', '--in', 'story']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    within(out, 'A script answers here, not a model', ...claims.map((claim) => `\n✓ ${claim}\n`));
    const [, pid] = /^\$ kill -9 (\d+)$/m.exec(out) ?? [];
    within(out, '$ perdure send $id', '← edit ok', `by process ${pid} for`, `$ kill -9 ${pid}`, '$ perdure worker');
    within(out, '$ perdure attach $id', '→ release', 'attempt 2', '← release ok', '$ cat released.txt');
    within(out, '$ perdure diff $id 3 $fork', '~ counts: counts live in memory → counts live in SQLite');
    within(out, 'why: one process, nothing else to run → a restart must not forget who asked');
    within(
      out,
      '$ perdure log $id --last 5',
      '~/filesModified/limiter.js',
      '+/filesModified/counts.js',
      '$ perdure verify',
    );
    expect(out).not.toContain('\u001b');
    const [narration = '', next = ''] = out.split('That was all.');
    const wide = narration.split('\n').filter((line) => line.length > 80 && !line.startsWith('$ cd '));
    expect(wide).toEqual([]);
    const [, history = ''] = /perdure (files history .*)/.exec(next) ?? [];
    const storyFolder = join(cwd, 'story');
    process.chdir(storyFolder);
    expect(await said(history.split(' '))).toContain('limiter.js');
    const picture = readFileSync(new URL('../../docs/pictures/demo.svg', import.meta.url), 'utf8');
    within(picture, ...claims);
    expect(readFileSync(join(storyFolder, 'released.txt'), 'utf8')).toMatch(
      new RegExp(`^1.0.0 released by process ${pid} .*\\n$`),
    );
  });

  test('[CLIR25] names the first claim that fails and exits with 1, in JSON too', async () => {
    const line = join(cwd, 'story', 'released.txt');
    const telling = inOwnProcess(['demo', '--in', 'story', '--json']);
    await expect.poll(() => existsSync(line), { timeout: 60_000 }).toBe(true);
    appendFileSync(line, 'and released again\n');
    const { code, out, err } = await telling;
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('does not hold: the call happened once') });
    const made = claims.slice(0, 4).map((name, index) => ({ name, holds: index < 3 }));
    expect(JSON.parse(out)).toEqual({ folder: expect.stringMatching(/story$/), claims: made });
    expect(await inOwnProcess(['demo', '--in', 'story'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('empty'),
    });
  });
});
