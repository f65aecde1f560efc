import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { identityOf } from '../../src/core/host/process-identity.ts';
import { defineShellTool, type ShellOptions, type ShellOutput } from '../../src/tools/index.ts';
import { CommandGroup } from '../../src/tools/shell/command-group.ts';
import { findGroupPlaces } from '../../src/tools/shell/group-places.ts';
import { kernelLimits } from '../../src/tools/shell/kernel-limits.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { newToolContext, useTool } from '../support/runs/tool-context.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const uid = 54_321;

/** Folders for a session, which a user without privileges can also use. They are not in /tmp, which a sandbox replaces. */
const newHost = async () => {
  const host = await realpath(await mkdtemp('/var/tmp/perdure-limits-'));
  onTestFinished(() => rm(host, { recursive: true, force: true, maxRetries: 3 }));
  const path = (name: string) => join(host, name);
  for (const name of ['files', 'tmp', 'records']) mkdirSync(path(name), { mode: 0o700 });
  return path;
};

const start = async (more: ShellOptions = {}) => {
  const host = await newHost();
  const options: ShellOptions = { recordsFolder: host('records'), graceMs: 200, sandbox: 'required', ...more };
  const tool = defineShellTool(options);
  const run = (command: string, timeoutMs = 60_000) =>
    useTool(
      tool,
      { command, timeoutMs },
      newToolContext(host('files'), { temporary: host('tmp') }),
    ) as Promise<ShellOutput>;
  return { host, options, run };
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Groups of commands whose supervisor has ended. Other tests run commands at the same time, under live supervisors. */
const remains = (): readonly string[] =>
  Object.values(findGroupPlaces()?.parents ?? {}).flatMap((parent) =>
    readdirSync(parent).filter((name) => {
      const [, pid] = /^perdure-command-(\d+)-/.exec(name) ?? [];
      return pid !== undefined && !isAlive(Number(pid));
    }),
  );

const canFork = (): boolean => spawnSync('/bin/true').status === 0;

/**
 * Runs a command in another process, under outer limits of the kernel. So a failing test cannot take the machine.
 * Returns the outcome, and whether this process could fork all the while.
 */
const runGuarded = async (
  { options, host }: Awaited<ReturnType<typeof start>>,
  command: string,
  as: readonly string[] = [],
): Promise<{ outcome: ShellOutput; couldFork: boolean }> => {
  const places = findGroupPlaces();
  if (!places) throw new Error('this test needs cgroups, so that it cannot take the machine');
  const guard = CommandGroup.create(places, { processes: 1500, memoryBytes: 2 * 1024 ** 3 });
  undo.push(() => guard.remove());
  const enter = guard.entrances.map((file) => `echo 0 >${file}`).join(' && ');
  const script = runScript(
    `const { defineShellTool } = await import(${moduleUrl('src/tools/index.ts')});
     const { newToolContext, useTool } = await import(${moduleUrl('test/support/runs/tool-context.ts')});
     const context = newToolContext(${JSON.stringify(host('files'))}, { temporary: ${JSON.stringify(host('tmp'))} });
     const input = { command: ${JSON.stringify(command)}, timeoutMs: 60_000 };
     console.log(JSON.stringify(await useTool(defineShellTool(${JSON.stringify(options)}), input, context)));`,
    ['/bin/sh', '-c', `${enter} && exec "$@"`, 'sh', ...as],
  );
  let couldFork = true;
  const timer = setInterval(() => {
    couldFork &&= canFork();
  }, 200);
  try {
    const line = await script.line();
    const { said } = await script.ended;
    if (!line) throw new Error(said);
    return { outcome: JSON.parse(line) as ShellOutput, couldFork };
  } finally {
    clearInterval(timer);
    script.kill();
    await expect.poll(() => guard.pids(), { timeout: 10_000 }).toEqual([]);
  }
};

const bomb = ':(){ :|:& };:; wait; sleep 60';

describe.skipIf(process.platform !== 'linux')('limits by the kernel (available on Linux only)', () => {
  test.skipIf(!findGroupPlaces())(
    '[TOOL24, TOOL25] a fork bomb meets the limit of its cgroup, the host can fork all the while, and nothing remains (needs writable cgroups)',
    async () => {
      for (const sandbox of ['required', 'off'] as const) {
        const { outcome, couldFork } = await runGuarded(await start({ sandbox, limits: { processes: 200 } }), bomb);
        expect(outcome).toMatchObject({ limit: 'processes', ended: expect.stringContaining('limit of processes') });
        expect(couldFork).toBe(true);
      }
      await expect.poll(remains, { timeout: 10_000 }).toEqual([]);
    },
  );

  test.skipIf(!findGroupPlaces() || process.getuid?.() !== 0)(
    '[TOOL24, TOOL25] without writable cgroups, rlimits of an unprivileged user stop a fork bomb (needs root to become that user)',
    async () => {
      const started = await start({ limits: { processes: 100 } });
      for (const name of ['', 'files', 'tmp', 'records']) chownSync(started.host(name), uid, uid);
      const as = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
      const fine = await runGuarded(started, 'for n in 1 2 3 4 5; do sleep 0.1 & done; wait; ulimit -u; echo few', as);
      expect(fine.outcome).toMatchObject({ output: '100\nfew\n', sandboxed: true });
      await undo.pop()!();
      const { outcome, couldFork } = await runGuarded(started, bomb, as);
      expect(couldFork).toBe(true);
      expect(outcome).toMatchObject({ limit: 'processes', ended: expect.stringContaining('limit of processes') });
    },
  );

  test('[TOOL24] memory of all processes together is limited by the kernel, /dev/shm included', async () => {
    const { run } = await start({ limits: { memoryBytes: 60 * 1024 ** 2 } });
    const ended = { limit: 'memory', ended: expect.stringContaining('memory limit') };
    expect(await run('perl -e \'$x = "x" x 500_000_000; sleep 60\'')).toMatchObject(ended);
    if (kernelLimits().memory === 'rlimit') return;
    expect(await run('head -c 100000000 /dev/zero >/dev/shm/x; sleep 60')).toMatchObject(ended);
  });

  test('[TOOL24] CPU time is limited for each process, and for all of them together', async () => {
    const burn = "perl -e '1 while 1'";
    const { run } = await start({ limits: { cpuMs: 1000 } });
    expect(await run(burn)).toMatchObject({ limit: 'cpu' });
    if (kernelLimits().cpu === 'rlimit') return;
    const many = "while :; do perl -e '1 for 1..1e6'; done";
    expect(await run(many)).toMatchObject({ limit: 'cpu', ended: expect.stringContaining('CPU time') });
  });

  test('[TOOL24] a process cannot open more files than the limit, nor raise it', async () => {
    const { run } = await start({ limits: { openFiles: 50 } });
    const open = 'ulimit -n 4096; for n in $(seq 100); do exec {fd}</dev/null || break; done; echo "$fd"';
    const { output } = await run(open);
    expect(output).toContain('Too many open files');
    expect(Number(output.trim().split('\n').at(-1))).toBeLessThan(50);
  });

  test('[TOOL26] a command that fills the disk is ended, whether its files have names or not', async () => {
    const { run, host } = await start({ limits: { diskBytes: 50 * 1024 ** 2 } });
    const ended = { limit: 'disk', ended: expect.stringContaining('disk') };
    const fill = (to: string) => `n=0; while :; do head -c 10000000 /dev/urandom >${to}/$n; n=$((n + 1)); done`;
    expect(await run(fill('.'))).toMatchObject(ended);
    expect(await run(fill('/tmp'))).toMatchObject(ended);
    await rm(host('tmp'), { recursive: true });
    mkdirSync(host('tmp'));
    const unnamed = 'for n in $(seq 60); do exec {fd}>x; rm x; head -c 10000000 /dev/urandom >&$fd; done; sleep 60';
    expect(await run(unnamed)).toMatchObject(ended);
  });

  test('[TOOL30] a command that fills the disk with files that no process has open is ended', async () => {
    const { run } = await start({ limits: { diskBytes: 50 * 1024 ** 2 } });
    // A program that runs keeps its file, which has neither a name nor a descriptor.
    const running =
      'for n in $(seq 20); do cp /usr/bin/sleep x; head -c 20000000 /dev/urandom >>x; ./x 60 & sleep 0.1; rm x; done; echo all; wait';
    const result = await run(running);
    expect(result).toMatchObject({ limit: 'disk' });
    expect(result.output).not.toContain('all');
  });

  test('[TOOL30] a command that writes little is not ended for what another writes to the disk', async () => {
    const { options, host } = await start({ limits: { diskBytes: 20 * 1024 ** 2 } });
    const isStarted = Promise.withResolvers<void>();
    const context = newToolContext(host('files'), {
      temporary: host('tmp'),
      progress: (text) => void (text.includes('started') && isStarted.resolve()),
    });
    const command = 'echo started; until [ -e go ]; do sleep 0.05; done; sleep 0.5; echo done';
    const quiet = useTool(defineShellTool(options), { command }, context);
    quiet.catch(isStarted.reject);
    await isStarted.promise;
    writeFileSync(host('other'), randomBytes(60 * 1024 ** 2));
    writeFileSync(host('files/go'), '');
    expect(await quiet).toMatchObject({ exitCode: 0, output: expect.stringContaining('done') });
  });

  test('[TOOL26] a command that creates too many files is ended', async () => {
    const { run } = await start({ limits: { diskFiles: 3000 } });
    const create =
      'perl -e \'for ($n = 0; ; $n++) { open F, ">", $n; close F; select undef, undef, undef, 0.01 if $n % 100 == 0 }\'';
    expect(await run(create)).toMatchObject({ limit: 'disk' });
  });

  test('[TOOL27] system calls that reach deep into the kernel are rejected', async () => {
    const { run } = await start();
    const calls = {
      x64: {
        ptrace: '101, 0',
        keyctl: '250, 0, -3, 0',
        bpf: '321, 0, 0, 0',
        unshare: '272, 0x10000000',
        personality: '135, 0x0040000',
        vsock: '41, 40, 1, 0',
        uring: '425, 8, 0',
        clone3: '435, 0, 0',
        mount: '165, 0, 0, 0, 0, 0',
      },
      arm64: {
        ptrace: '117, 0',
        keyctl: '219, 0, -3, 0',
        bpf: '280, 0, 0, 0',
        unshare: '97, 0x10000000',
        personality: '92, 0x0040000',
        vsock: '198, 40, 1, 0',
        uring: '425, 8, 0',
        clone3: '435, 0, 0',
        mount: '40, 0, 0, 0, 0, 0',
      },
    }[process.arch as 'x64' | 'arm64'];
    const program = Object.entries(calls).map(
      ([name, args]) => `$r = syscall(${args}); print "${name} $r ", $! + 0, "\\n";`,
    );
    const { output } = await run(
      `perl -e '${program.join(' ')}'; grep ^Seccomp: /proc/self/status; unshare -U true; echo $?`,
    );
    const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];
    const wanted = {
      ptrace: EPERM,
      keyctl: EPERM,
      bpf: EPERM,
      unshare: EPERM,
      personality: EPERM,
      vsock: EAFNOSUPPORT,
      uring: ENOSYS,
      clone3: ENOSYS,
      mount: EPERM,
    };
    for (const [name, code] of Object.entries(wanted)) expect(output).toContain(`${name} -1 ${code}\n`);
    expect(output).toMatch(/Seccomp:\t2\n/);
    expect(output).toMatch(/unshare failed.*\n1\n$/);
  });

  test.skipIf(!findGroupPlaces())(
    '[TOOL25] what a killed supervisor leaves is ended and removed by the next command (needs writable cgroups)',
    async () => {
      const { host, options, run } = await start({ sandbox: 'off' });
      const script = runScript(
        `const { defineShellTool } = await import(${moduleUrl('src/tools/index.ts')});
         const { newToolContext, useTool } = await import(${moduleUrl('test/support/runs/tool-context.ts')});
         await useTool(defineShellTool(${JSON.stringify(options)}), { command: 'echo $$ >pid; setsid sleep 1000 & wait' }, newToolContext(${JSON.stringify(host('files'))}));`,
      );
      await expect.poll(() => existsSync(host('files/pid')), { timeout: 20_000 }).toBe(true);
      const record = join(host('records'), readdirSync(host('records'))[0]!);
      const supervisor = JSON.parse(readFileSync(join(record, 'claimed'), 'utf8')) as { pid: number };
      expect(identityOf(supervisor.pid).start).not.toBe('');
      const { folders } = JSON.parse(readFileSync(join(record, 'cgroup'), 'utf8')) as {
        folders: Record<string, string>;
      };
      script.kill();
      await script.ended;
      process.kill(supervisor.pid, 'SIGKILL');
      expect(readFileSync(join(folders.pids!, 'cgroup.procs'), 'utf8')).not.toBe('');
      expect(await run('echo next')).toMatchObject({ output: 'next\n' });
      for (const folder of Object.values(folders)) expect(existsSync(folder)).toBe(false);
    },
  );
});
