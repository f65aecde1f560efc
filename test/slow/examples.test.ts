import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openRuntime, type Runtime, type Session, type SessionEvent } from '../../src/index.ts';
import { createDatabase } from '../support/postgres/postgres.ts';

vi.setConfig({ testTimeout: 120_000 }); // processes, perhaps on a busy machine

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(checkout, 'examples');
const examples = readdirSync(folder).filter((name) => /^\d\d-/.test(name));

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'perdure-examples-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

/** Runs an example in a new folder with its own temporary folder; returns its output. */
const run = async (example: string, store: string | undefined): Promise<string> => {
  const cwd = mkdtempSync(join(place, 'cwd-'));
  const temporary = mkdtempSync(join(place, 'tmp-'));
  for (const path of [place, temporary]) chmodSync(path, 0o755); // root starts PostgreSQL as another user
  const file = example.endsWith('.ts') ? example : join(example, 'main.ts');
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY, ...others } = process.env;
  const env = { ...others, TMPDIR: temporary, PERDURE_STORE: store, PERDURE_DATA: join(place, 'data') };
  const ended = await new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    const child = execFile(process.execPath, [join(folder, file)], { cwd, env }, (_, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    );
  });
  expect(ended).toMatchObject({ code: 0, err: '' });
  expect(readdirSync(cwd)).toEqual([]);
  expect(readdirSync(temporary).filter((name) => name.startsWith(`perdure-${example.slice(3, 8)}`))).toEqual([]);
  return ended.out;
};

/** Reads the results from the store alone, as a later process would do. */
const look = async <Found>(store: string, at: (runtime: Runtime) => Promise<Found>): Promise<Found> => {
  await using runtime = await openRuntime({ store });
  return await at(runtime);
};

const sessionsOf = async ({ sessions }: Runtime): Promise<readonly Session[]> => {
  const { sessions: listed } = await sessions.list();
  return Promise.all(listed.map(({ id }) => sessions.get(id)));
};
const only = async (runtime: Runtime): Promise<Session> => {
  const sessions = await sessionsOf(runtime);
  expect(sessions).toHaveLength(1);
  return sessions[0]!;
};
const eventsOf = (session: Session): Promise<SessionEvent[]> => Array.fromAsync(session.events());
const callsOf = async (session: Session) =>
  (await session.toolCalls()).calls.map(({ tool, status }) => `${tool} ${status}`);
const endsOf = async (session: Session) =>
  (await eventsOf(session)).flatMap((event) => (event.type === 'run.ended' ? [event.payload.status] : []));

/** Checks that what each example prints is true. */
const claims: Readonly<Record<string, (out: string, runtime: Runtime) => Promise<void>>> = {
  '01-hello.ts': async (out, runtime) => {
    const session = await only(runtime);
    const types = (await eventsOf(session)).map(({ type }) => type);
    expect([...out.matchAll(/^ +\d+ {2}turn \d {2}(\S+)/gm)].map(([, type]) => type)).toEqual(types);
    const [, answer] = (await session.transcript()).entries;
    expect(answer!.message.content.at(-1)).toMatchObject({ text: /^The agent says: (.+)$/m.exec(out)![1] });
    expect(out).toMatch(/Its hash chain holds/);
  },
  '02-coding-agent.ts': async (out, runtime) => {
    const session = await only(runtime);
    expect(await callsOf(session)).toEqual(['decide ok', 'shell ok', 'edit ok', 'shell ok']);
    expect(Buffer.from(await session.files.read('port.sh')).toString()).toBe('echo "$PORT"\n');
    expect(out).toMatch(/succeeded: The test passes/);
    expect(out).toMatch(/^-echo 80\n\+echo "\$PORT"$/m);
    expect(out).toMatch(/Decided: The port comes from PORT/);
  },
  '03-approval.ts': async (out, runtime) => {
    const events = await eventsOf(await only(runtime));
    const by = (type: string) => events.filter((event) => event.type === type).map(({ actor }) => actor);
    expect(by('input.admitted')).toEqual(['member:bob']);
    expect(by('approval.settled')).toEqual(['member:ann']);
    expect(by('tool.completed')).toEqual(['tool:deploy']);
    expect(out).toMatch(/waiting for an approval.*Ann approves.*succeeded. "Done: 1.4.2 is live."/s);
  },
  '04-fork-and-compare.ts': async (out, runtime) => {
    const [branch, session] = await sessionsOf(runtime);
    expect((await branch!.summary()).parent).toBe(session!.id);
    expect((await session!.state()).decisions.database!.what).toBe('SQLite');
    expect((await branch!.state()).decisions.database!.what).toBe('PostgreSQL');
    expect(out).toMatch(/database: SQLite \(one file.*became: PostgreSQL \(many machines/s);
    expect(out).toMatch(/fact users: "one team, one machine" became "many teams, next year"/);
    expect(out).toMatch(new RegExp(`first ${(await branch!.summary()).forkedAt} events`));
  },
  '05-custom-state.ts': async (out, runtime) => {
    const session = await only(runtime);
    expect((await session.state()).own).toEqual({ status: 'draft', items: { bell: { count: 2, cents: 1250 } } });
    const reasons = (await session.commits()).commits.map(({ why }) => why);
    expect(reasons).toEqual(['changed their mind', 'confirmed', 'asked for', 'the initial state of shop']);
    expect(out).toMatch(/Refused, and nothing stored: .*\/own\/items\/bell\/count/);
    expect(out).toMatch(/it is a draft again/);
  },
  '06-foreign-loop.ts': async (out, runtime) => {
    const session = await only(runtime);
    const calls = ['runTests ok', 'writeFile ok', 'runTests threw', 'writeFile ok'];
    expect(await callsOf(session)).toEqual(calls);
    expect([...out.matchAll(/turn 1 {2}(\w+) +(\w+)$/gm)].map(([, ...call]) => call.join(' '))).toEqual(calls);
    expect(Object.keys((await session.state()).filesModified)).toEqual(['auth.ts', 'auth.test.ts']);
    expect(out).toMatch(/turn 1 {2}\/filesModified\/auth\.ts {2}by writeFile/);
  },
  '07-many-workers': async (out, runtime) => {
    const sessions = await sessionsOf(runtime);
    expect(sessions).toHaveLength(6);
    const attempts: number[] = [];
    for (const session of sessions) {
      const events = await eventsOf(session);
      expect(await endsOf(session)).toEqual(['succeeded']);
      expect(events.filter(({ type }) => type === 'tool.completed')).toHaveLength(3);
      attempts.push(events.filter(({ type }) => type === 'run.started').length);
      expect(await session.verify()).toMatchObject({ ok: true });
    }
    expect(Math.max(...attempts)).toBe(2);
    const [, killed] = /^(\w), the first at work, was killed/m.exec(out)!;
    expect(out).toMatch(/6 runs succeeded/);
    expect([...out.matchAll(/2 attempts, its steps by (.+)$/gm)].join()).not.toContain(
      `${killed}, ${killed}, ${killed}`,
    );
  },
  '08-budget.ts': async (out, runtime) => {
    const session = await only(runtime);
    const events = await eventsOf(session);
    const stops = events.flatMap((event) => (event.type === 'run.waiting' ? [event.payload.for] : []));
    expect(stops).toEqual(['budget']);
    expect(await endsOf(session)).toEqual(['succeeded']);
    expect((await session.usage()).spent.tokens).toBeGreaterThan(600);
    expect(Object.keys((await session.state()).plan)).toEqual(['1', '2', '3']);
    expect(out).toMatch(/waiting for budget.* of 600 tokens, 2 of 3 steps.*succeeded: Three steps/s);
  },
};

test.each(examples)('[TRACK1] %s does what its output claims, and leaves nothing behind', async (example) => {
  const database = example === '07-many-workers' ? await createDatabase() : undefined;
  try {
    const store = database?.url ?? `sqlite:${join(place, 'perdure.db')}`;
    const out = await run(example, store);
    await look(store, (runtime) => claims[example]!(out, runtime));
  } finally {
    await database?.drop();
  }
});

test('[TEN2] the many-workers example uses an ordinary role, even on the server that it starts itself', async () => {
  expect(await run('07-many-workers', undefined)).toMatch(/6 runs succeeded/);
});

test('an example whose output pipe closes early runs to its end without reporting an error', async () => {
  const env = { ...process.env, TMPDIR: place };
  const child = spawn(process.execPath, ['scripts/run-example.ts', '01'], { cwd: checkout, env });
  child.stdout.destroy();
  let errorText = '';
  child.stderr.on('data', (bytes) => (errorText += bytes));
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(errorText).toBe('');
  expect(readdirSync(place)).toEqual([]);
});

test('files that an example keeps in the recommended place are ignored by git', () => {
  const [, kept] = /PERDURE_STORE=sqlite:(\S+) npm run example/.exec(readFileSync(join(folder, 'README.md'), 'utf8'))!;
  expect(execFileSync('git', ['check-ignore', kept!], { cwd: checkout, encoding: 'utf8' })).toBe(`${kept}\n`);
});

test('the README lists every example with a description', () => {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  expect([...readme.matchAll(/\]\((\d\d-[\w.-]+)\)/g)].map(([, file]) => file)).toEqual(examples);
});
