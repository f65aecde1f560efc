import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { ToolContext } from '../../src/core/ports/tool.ts';
import { defineAgent, defineScript, openRuntime, PerdureError } from '../../src/index.ts';
import type { Json } from '../../src/schema/json.ts';
import { defineShellTool, type ShellOptions, type ShellOutput } from '../../src/tools/index.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { newFolder, newToolContext, useTool } from '../support/runs/tool-context.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const startWith = async (sandbox: 'required' | 'off', more: ShellOptions = {}) => {
  const [work, records] = [await newFolder(), await newFolder()];
  undo.push(work.remove, records.remove);
  const options = { recordsFolder: records.path, graceMs: 200, leaseMs: 10_000, sandbox, ...more };
  const tool = defineShellTool(options);
  const run = (command: string, context: Partial<ToolContext> = {}, timeoutMs = 20_000): Promise<ShellOutput> =>
    useTool(tool, { command, timeoutMs }, newToolContext(work.path, context)) as Promise<ShellOutput>;
  const reconcile = async (context: ToolContext) => tool.reconcile!({ command: '' } as never, context);
  /** Runs the command in another process. */
  const runElsewhere = (command: string, idempotencyKey: string) => {
    const runner = runScript(`
      const { defineShellTool } = await import(${moduleUrl('src/tools/index.ts')});
      const { newToolContext, useTool } = await import(${moduleUrl('test/support/runs/tool-context.ts')});
      const context = newToolContext(${JSON.stringify(work.path)}, { idempotencyKey: '${idempotencyKey}' });
      await useTool(defineShellTool(${JSON.stringify(options)}), ${JSON.stringify({ command })}, context);`);
    undo.push(() => runner.kill());
    return runner;
  };
  const file = (name: string) => join(work.path, name);
  /** Whether the only recorded command was asked to end. */
  const isCancelled = () => existsSync(join(records.path, readdirSync(records.path)[0]!, 'cancel'));
  return { work: work.path, records: records.path, tool, run, reconcile, runElsewhere, file, isCancelled };
};

/** How many processes have this text in their command line, not counting zombies. */
const countRunning = (text: string): number =>
  execFileSync('ps', ['-A', '-ww', '-o', 'stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(text) && !line.startsWith('Z') && !line.includes('bash -c')).length;

/** A sleep duration that no other process uses. */
const ownTime = (): string => `1${randomInt(1e8, 1e9)}`;

const untilGo = 'echo begun; echo x >>runs; until [ -e go ]; do sleep 0.05; done; echo ended; exit 7';

for (const sandbox of ['required', 'off'] as const) {
  const start = (more?: ShellOptions) => startWith(sandbox, more);
  describe(sandbox === 'off' ? 'without a sandbox' : 'in a sandbox', () => {
    test('[TOOL7] returns the exit code and both streams in order', async () => {
      const { run, work } = await start();
      expect(await run('echo out; echo err >&2; echo more >/dev/stdout; exit 3')).toEqual({
        exitCode: 3,
        output: 'out\nerr\nmore\n',
        cwd: work,
        sandboxed: sandbox === 'required',
      });
      expect(await run('cat; read x; echo "<$x>"')).toMatchObject({ exitCode: 0, output: '<>\n' });
      expect(await run('kill -9 $$')).toMatchObject({ exitCode: 137 });
      expect(await run('if')).toMatchObject({ exitCode: 2, output: expect.stringContaining('syntax error') });
    });

    test('[TOOL7] the working folder and environment carry over to the next command, and invalid stored values are ignored', async () => {
      const { run, work, tool } = await start({ env: { GIVEN: 'given' } });
      const first = newToolContext(work);
      await useTool(tool, { command: 'mkdir -p a/b; cd a/b; export A="1\n2"; B=2; unset GIVEN; exit 4' }, first);
      expect(first.keeps()).toEqual({ cwd: 'a/b', env: { set: { A: '1\n2' }, unset: ['GIVEN'] } });
      const kept = first.keeps()!;
      const second = await run('pwd; echo "$A,$B,$GIVEN"', { kept });
      expect(second.output).toBe(`${work}/a/b\n1\n2,,\n`);
      expect(await run('cd ..; rmdir b; pwd', { kept })).toMatchObject({ exitCode: 0, output: `${work}/a\n` });
      expect(await run('pwd', { kept })).toMatchObject({
        output: `${work}\n`,
        notes: [expect.stringContaining('is gone')],
      });
      const strange: Json[] = ['x', null, { cwd: 3 }, { cwd: '/', env: { set: [], unset: {} } }];
      for (const each of strange) expect((await run('pwd', { kept: each })).output).toBe(`${work}\n`);
    });

    test('[TOOL8] at whatever moment a runner is killed, its command runs once or has an unknown outcome', async () => {
      const { runElsewhere, reconcile, work, file } = await start();
      for (const trial of [1, 2, 3, 4, 5, 6]) {
        const runner = runElsewhere(`echo x >>${trial}; echo one; sleep 0.1; echo two`, `k${trial}`);
        await sleep(randomInt(200, 1500));
        runner.kill();
        await runner.ended;
        const { outcome, ...more } = await reconcile(newToolContext(work, { idempotencyKey: `k${trial}` }));
        if (outcome === 'unknown') expect(existsSync(file(String(trial)))).toBe(false);
        else {
          expect({ outcome, ...more }).toMatchObject({ outcome: 'ok', output: { exitCode: 0, output: 'one\ntwo\n' } });
          expect(readFileSync(file(String(trial)), 'utf8')).toBe('x\n');
        }
      }
    });

    test('[TOOL9] a command that no worker waits for is ended when its lease lapses, and its outcome says so', async () => {
      const { runElsewhere, reconcile, work, file } = await start({ leaseMs: 600 });
      const time = ownTime();
      const runner = runElsewhere(`echo begun; sleep ${time} & echo x >runs; wait`, 'k');
      await expect.poll(() => existsSync(file('runs')), { timeout: 20_000 }).toBe(true);
      runner.kill();
      await expect.poll(() => countRunning(`sleep ${time}`), { timeout: 20_000 }).toBe(0);
      const context = newToolContext(work, { idempotencyKey: 'k' });
      expect(await reconcile(context)).toMatchObject({
        outcome: 'ok',
        output: { ended: expect.stringContaining('no other took over'), output: 'begun\n' },
      });
    });

    test('[TOOL10] a cancel ends everything the command started, including processes that left its group or ignore TERM', async () => {
      const { run, file } = await start();
      const time = ownTime();
      const cancel = new AbortController();
      const sleepers = `sleep ${time} & setsid sleep ${time} & bash -c "trap '' TERM; sleep ${time}; sleep ${time}" &`;
      const running = run(`${sleepers} trap '' TERM; echo x >runs; wait; sleep ${time}`, { signal: cancel.signal });
      await expect.poll(() => countRunning(`sleep ${time}`), { timeout: 20_000 }).toBe(3);
      await expect.poll(() => existsSync(file('runs')), { timeout: 20_000 }).toBe(true);
      cancel.abort(new Error('not any more'));
      await expect(running).rejects.toThrow('not any more');
      expect(countRunning(time)).toBe(0);
    });

    test('[TOOL10] a command that times out is ended, and its output is reported', async () => {
      const { run } = await start();
      const time = ownTime();
      const output = await run(`trap '' TERM; echo begun; sleep ${time}; sleep ${time}`, {}, 500);
      expect(output).toMatchObject({
        exitCode: 137,
        output: 'begun\n',
        ended: expect.stringContaining('exceeded its time limit'),
      });
      expect(countRunning(time)).toBe(0);
    });

    test('[TOOL10] nothing outlives its command: no background process, daemon or zombie', async () => {
      const { run } = await start();
      const time = ownTime();
      const daemon = `(setsid bash -c 'exec >/dev/null 2>&1; sleep ${time} & exit' &)`;
      expect(await run(`sleep ${time} & ${daemon}; echo done`)).toMatchObject({ exitCode: 0, output: 'done\n' });
      expect(countRunning(time)).toBe(0);
      const children = () => execFileSync('ps', ['-A', '-o', 'ppid=,stat='], { encoding: 'utf8' }).split('\n');
      const zombies = () => children().filter((line) => line.trim().startsWith(`${process.pid} Z`));
      await expect.poll(zombies, { timeout: 20_000 }).toEqual([]);
    });

    test('[TOOL10] when the supervisor is killed the command ends too, and its outcome is unknown', async () => {
      const { run, reconcile, records, work, file } = await start();
      const time = ownTime();
      let shown = '';
      const running = run(`echo begun; sleep ${time} & echo x >runs; wait`, {
        idempotencyKey: 'k',
        progress: (text) => {
          shown += text;
        },
      }).catch((error) => error);
      await expect.poll(() => existsSync(file('runs')) && shown, { timeout: 20_000 }).toBe('begun\n');
      const { pid } = JSON.parse(readFileSync(join(records, readdirSync(records)[0]!, 'claimed'), 'utf8'));
      process.kill(pid, 'SIGKILL');
      expect(String(await running)).toMatch(/is gone.*\nbegun/);
      expect(countRunning(time)).toBe(0);
      const context = newToolContext(work, { idempotencyKey: 'k' });
      expect(await reconcile(context)).toMatchObject({ outcome: 'unknown', message: expect.stringContaining('begun') });
    });
  });
}

test('[TOOL7] the log holds the working folder and variables that a command leaves', async () => {
  const { tool, work } = await startWith('required');
  const calls = ['mkdir a; cd a; export A=1', 'echo "$PWD $A"'];
  const steps = [...calls.map((command) => ({ calls: [{ tool: 'shell', input: { command } }] })), { text: 'Done.' }];
  const agent = defineAgent({
    name: 'tester',
    version: 1,
    model: defineScript({ name: 'test', steps }),
    instructions: '',
    tools: [tool],
  });
  const runtime = await openRuntime({
    store: `sqlite:${join(work, '.perdure', 'log.db')}`,
    agents: [agent],
    worker: false,
  });
  undo.push(() => runtime.close());
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent, files: { cwd: work } });
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  const done = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'tool.completed');
  expect(done.map(({ payload }) => payload)).toMatchObject([
    { keeps: { cwd: 'a', env: { set: { A: '1' } } } },
    { output: { output: `${work}/a 1\n` } },
  ]);
});

test('[TOOL8] a worker that takes over follows the running command to its end and gets all its output, and the command ran once', async () => {
  const { runElsewhere, reconcile, work, file } = await startWith('required');
  const runner = runElsewhere(untilGo, 'k');
  await expect.poll(() => existsSync(file('runs')), { timeout: 20_000 }).toBe(true);
  runner.kill();
  await runner.ended;
  const context = newToolContext(work, { idempotencyKey: 'k' });
  const reconciled = reconcile(context);
  await expect.poll(context.shown, { timeout: 20_000 }).toBe('begun\n');
  writeFileSync(file('go'), '');
  expect(await reconciled).toEqual({
    outcome: 'ok',
    output: { exitCode: 7, output: 'begun\nended\n', cwd: work, sandboxed: true },
  });
  expect(context.keeps()).toMatchObject({ cwd: '' });
  expect(readFileSync(file('runs'), 'utf8')).toBe('x\n');
  expect(await reconcile(newToolContext(work, { idempotencyKey: 'k' }))).toMatchObject({ outcome: 'ok' });
});

test('[TOOL8] a command that ended while no worker was waiting is reported with its real outcome', async () => {
  const { runElsewhere, reconcile, work, records, file } = await startWith('required');
  const runner = runElsewhere(untilGo, 'k');
  await expect.poll(() => existsSync(file('runs')), { timeout: 20_000 }).toBe(true);
  runner.kill();
  await runner.ended;
  writeFileSync(file('go'), '');
  const [record] = readdirSync(records);
  await expect.poll(() => existsSync(join(records, record!, 'outcome')), { timeout: 20_000 }).toBe(true);
  const context = newToolContext(work, { idempotencyKey: 'k' });
  expect(await reconcile(context)).toMatchObject({
    outcome: 'ok',
    output: { exitCode: 7, output: 'begun\nended\n' },
  });
});

test('[TOOL8] a call that many workers run concurrently starts its command once', async () => {
  const { run, file } = await startWith('required');
  const same = { idempotencyKey: 'same' };
  const outputs = await Promise.all([1, 2, 3].map(() => run('echo x >>runs; echo done', same)));
  expect(outputs.map(({ output }) => output)).toEqual(['done\n', 'done\n', 'done\n']);
  expect(readFileSync(file('runs'), 'utf8')).toBe('x\n');
});

test('[TOOL8] when a worker is killed in the middle of a run, its successor continues with the same command', async () => {
  const { work, records, file } = await startWith('required');
  const store = `sqlite:${file('.perdure/log.db')}`;
  const setUp = `
    const { defineAgent, defineScript, openRuntime } = await import(${moduleUrl('src/index.ts')});
    const { defineShellTool } = await import(${moduleUrl('src/tools/index.ts')});
    const steps = [{ calls: [{ tool: 'shell', input: { command: ${JSON.stringify(untilGo)} } }] }, { text: 'Done.' }];
    const agent = defineAgent({ name: 'tester', version: 1, model: defineScript({ name: 'test', steps }), instructions: '',
      tools: [defineShellTool({ recordsFolder: ${JSON.stringify(records)}, sandbox: 'required' })] });
    const runtime = await openRuntime({ store: ${JSON.stringify(store)}, agents: [agent] });
    await runtime.worker({ pollMs: 100 }).start();`;
  const first = runScript(`${setUp}
    const session = await runtime.sessions.open({ agent, files: { cwd: ${JSON.stringify(work)} } });
    const run = await session.send('Go');
    console.log(session.id);`);
  undo.push(() => first.kill());
  const session = await first.line();
  await expect.poll(() => existsSync(file('runs')), { timeout: 20_000 }).toBe(true);
  first.kill();
  await first.ended;
  writeFileSync(file('go'), '');
  const second = runScript(`${setUp}
    const session = await runtime.sessions.get(${JSON.stringify(session)});
    for await (const { type, payload } of session.events({ follow: true })) {
      if (type === 'tool.completed') console.log(JSON.stringify(payload.output));
      if (type === 'run.ended') break;
    }
    await runtime.close();`);
  undo.push(() => second.kill());
  let followed = '';
  for (let line = await second.line(); line !== undefined; line = await second.line()) followed += line;
  expect({ followed, ...(await second.ended) }).toMatchObject({
    code: 0,
    followed: expect.stringContaining('begun\\nended'),
  });
  expect(readFileSync(file('runs'), 'utf8')).toBe('x\n');
});

test('[TOOL9] a command outlives its first lease while its runner renews it', async () => {
  const { run } = await startWith('required', { leaseMs: 1000 });
  expect(await run('sleep 2; echo done')).toMatchObject({ exitCode: 0, output: 'done\n' });
});

test('[TOOL9] a worker that stops leaves its command to the next one', async () => {
  const { run, reconcile, work, file, isCancelled } = await startWith('required');
  const stop = new AbortController();
  const running = run(untilGo, { idempotencyKey: 'k', signal: stop.signal });
  await expect.poll(() => existsSync(file('runs')), { timeout: 20_000 }).toBe(true);
  stop.abort(new PerdureError('RUNTIME_CLOSED', 'the worker was stopped'));
  await expect(running).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
  expect(isCancelled()).toBe(false);
  writeFileSync(file('go'), '');
  const context = newToolContext(work, { idempotencyKey: 'k' });
  expect(await reconcile(context)).toMatchObject({ outcome: 'ok', output: { exitCode: 7 } });
});

test('[TOOL9] a worker whose command was taken over by another worker does not end it', async () => {
  const { run, reconcile, work, file, isCancelled } = await startWith('required');
  const lost = new AbortController();
  const running = run(untilGo, { idempotencyKey: 'k', signal: lost.signal }).catch((error) => error);
  await expect.poll(() => existsSync(file('runs')), { timeout: 20_000 }).toBe(true);
  const context = newToolContext(work, { idempotencyKey: 'k' });
  const reconciled = reconcile(context);
  await expect.poll(context.shown, { timeout: 20_000 }).toBe('begun\n');
  lost.abort(new PerdureError('FENCED', 'another worker has it now'));
  expect(isCancelled()).toBe(false);
  writeFileSync(file('go'), '');
  expect(await reconciled).toMatchObject({ outcome: 'ok', output: { exitCode: 7 } });
  expect(await running).toMatchObject({ code: 'FENCED' });
});

test('[TOOL10] a command that deletes its record or stops its supervisor still ends', async () => {
  const { run } = await startWith('off');
  const time = ownTime();
  await expect(run(`rm -r "$PERDURE_COMMAND"; sleep ${time}`)).rejects.toThrow('is gone');
  const cancel = new AbortController();
  const running = run(`kill -STOP $PPID; sleep ${time}`, { signal: cancel.signal });
  await expect.poll(() => countRunning(`sleep ${time}`), { timeout: 20_000 }).toBe(1);
  cancel.abort(new Error('not any more'));
  await expect(running).rejects.toThrow('not any more');
  expect(countRunning(time)).toBe(0);
}, 60_000);

test('[TOOL11] of 100 MB of output the beginning and the end are returned, with the place of the rest', async () => {
  const { run, records } = await startWith('required', { maxFileBytes: 256 * 1024 ** 2 });
  const { output, exitCode } = await run('echo first; yes | head -c 100000000; echo last');
  expect(exitCode).toBe(0);
  expect(output.length).toBeLessThan(1.1 * 1024 ** 2);
  expect(output).toMatch(/^first\ny\n/);
  expect(output).toMatch(/y\nlast\n$/);
  expect(output).toContain('100000011 bytes in all');
  const file = join(records, readdirSync(records)[0]!, 'output');
  expect(output).toContain(file);
  expect(statSync(file).size).toBe(100_000_011);
}, 60_000);

test('[TOOL11] output on disk is bounded too, and any encoding is decoded to text', async () => {
  const { run, records } = await startWith('required', { maxFileBytes: 1000, maxTextBytes: 600 });
  const { output } = await run("echo first; head -c 5000000 /dev/zero | tr '\\0' z; printf '\\xff\\xfe'; echo last");
  expect(output).toMatch(/^first\nz+\n\[… 5000013 bytes in all.*\]\nz+\ufffd\ufffdlast\n$/);
  expect(statSync(join(records, readdirSync(records)[0]!, 'output')).size).toBe(1000);
});

test('[TOOL12] a call without a record on this machine has an unknown outcome', async () => {
  const { reconcile, work, run } = await startWith('required');
  expect(await reconcile(newToolContext(work))).toMatchObject({ outcome: 'unknown' });
  await run('true', { idempotencyKey: 'k' });
  const elsewhere = newToolContext(work, { idempotencyKey: 'k', workspace: 'other' as ToolContext['workspace'] });
  expect(await reconcile(elsewhere)).toMatchObject({ outcome: 'unknown' });
});

test("[TOOL13] commands do not see the worker's environment, and other users do not see the commands' records", async () => {
  const { run, records } = await startWith('required');
  process.env.SOME_API_KEY = 'secret';
  undo.push(() => delete process.env.SOME_API_KEY);
  const { output } = await run('env; echo "$PATH"');
  expect(output).not.toContain('secret');
  expect(output).toContain(process.env.PATH);
  const [record] = readdirSync(records);
  expect(statSync(join(records, record!)).mode & 0o077).toBe(0);
  chmodSync(records, 0o777);
  await expect(run('true')).rejects.toThrow('not private to this user');
});

test('[TOOL13] an invalid command is rejected', async () => {
  const { run } = await startWith('required');
  await expect(run('')).rejects.toThrow('command');
  await expect(run('echo \0')).rejects.toThrow('U+0000');
  await expect(run(`: ${'x'.repeat(200_000)}`)).rejects.toThrow('write it to a file');
});
