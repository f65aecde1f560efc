import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import type { ToolContext } from '../../src/core/ports/tool.ts';
import { emptyState } from '../../src/schema/state.ts';
import { defineShellTool, type ShellOptions, type ShellOutput } from '../../src/tools/index.ts';
import { moduleUrl } from '../support/cli/run-script.ts';
import { newToolContext, useTool } from '../support/runs/tool-context.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/**
 * A data folder with sessions a and b, next to a key and an account. It is not in /tmp, because a sandbox replaces
 * /tmp.
 */
const newHost = async () => {
  const host = await realpath(await mkdtemp('/var/tmp/perdure-sandbox-'));
  undo.push(() => rm(host, { recursive: true, force: true, maxRetries: 3 }));
  const path = (...names: string[]) => join(host, ...names);
  for (const folder of ['data/a/files', 'data/a/tmp', 'data/b/files', 'data/b/tmp', 'home/.ssh', 'records']) {
    mkdirSync(path(folder), { recursive: true, mode: 0o700 });
  }
  for (const file of ['data/perdure.db', 'data/b/files/notes', 'home/.ssh/id_ed25519']) {
    writeFileSync(path(file), 'SECRET');
  }
  return path;
};

const start = async (more: ShellOptions = {}) => {
  const host = await newHost();
  const options: ShellOptions = { recordsFolder: host('records'), graceMs: 200, sandbox: 'required', ...more };
  const tool = defineShellTool(options);
  const contextOf = (session: 'a' | 'b', context: Partial<ToolContext> = {}) =>
    newToolContext(host('data', session, 'files'), { temporary: host('data', session, 'tmp'), ...context });
  const run = (command: string, context?: Partial<ToolContext>, timeoutMs = 20_000) =>
    useTool(tool, { command, timeoutMs }, contextOf('a', context)) as Promise<ShellOutput>;
  const file = (name: string) => host('data/a/files', name);
  /** Checks that nothing outside session a has changed. */
  const expectUntouched = () => {
    for (const each of ['data/perdure.db', 'data/b/files/notes', 'home/.ssh/id_ed25519']) {
      expect(readFileSync(host(each), 'utf8')).toBe('SECRET');
    }
    expect(readdirSync(host()).sort()).toEqual(['data', 'home', 'records']);
    expect(readdirSync(host('data')).sort()).toEqual(['a', 'b', 'perdure.db']);
    expect(readdirSync(host('data/b/files'))).toEqual(['notes']);
  };
  return { host, options, tool, contextOf, run, file, expectUntouched };
};

const listen = async (server: Server, at: number | string): Promise<{ port: number; hits: () => number }> => {
  let hits = 0;
  server.on('connection', (socket) => {
    hits++;
    socket.end('SECRET');
  });
  await new Promise<void>((resolve) =>
    typeof at === 'string' ? server.listen(at, resolve) : server.listen(at, '127.0.0.1', resolve),
  );
  undo.push(() => server.close());
  const address = server.address();
  return { port: typeof address === 'object' ? address!.port : 0, hits: () => hits };
};

/** Each command prints ESCAPED, or a secret, if it succeeds. */
const attacks = (host: (...names: string[]) => string): Readonly<Record<string, string>> => ({
  'the database by its path': `cat ${host('data/perdure.db')}`,
  'the database from its own folder': 'cat ../../perdure.db ../../../data/perdure.db',
  'a private key': `cat ${host('home/.ssh/id_ed25519')}; ls ~/.ssh /root /home && echo ESCAPED`,
  'the worktree of another session': `cat ${host('data/b/files/notes')} ../../b/files/notes`,
  'the temporary files of another session': `ls ${host('data/b/tmp')} ../../b/tmp && echo ESCAPED`,
  'the records of commands': `ls ${host('records')} /tmp/perdure-commands-* && echo ESCAPED`,
  'passwords of the host': 'cat /etc/shadow /etc/gshadow /etc/sudoers && echo ESCAPED',
  'a write by an absolute path': `echo x >${host('data/perdure.db')} && echo ESCAPED`,
  'a write by ..': 'echo x >../../perdure.db && echo ESCAPED; mkdir ../other && echo ESCAPED',
  'a write through its own link': `ln -s ${host('data')} out; echo x >out/perdure.db && echo ESCAPED; cat out/perdure.db`,
  'a write through a link that was already there': 'echo x >planted && echo ESCAPED; cat planted',
  'a hard link': `ln ${host('data/perdure.db')} mine && echo ESCAPED; ln /usr/bin/env mine && echo ESCAPED`,
  'a write to the system':
    'for d in / /usr /usr/bin /etc /dev /proc /var /bin /lib; do touch $d/x && echo ESCAPED; done',
  'the root of the first process': `cat /proc/1/root${host('data/perdure.db')} /proc/1/cwd/x; ls /proc/1/root/root /proc/*/root/home && echo ESCAPED`,
  'the working folder of the first process': `cd /proc/1/cwd; cat .${host('data/perdure.db')}; ls home && echo ESCAPED`,
  'open descriptors': `for fd in /proc/[0-9]*/fd/*; do case $(readlink $fd) in ${host()}/records/*/pipe | ${host('data/a/files')}*) ;; ${host()}* | /root* | /home*) echo "ESCAPED $fd";; esac; done`,
  'a folder above an open descriptor': `cat /proc/self/fd/1/../outcome /proc/self/fd/1/../../records/*; ls /proc/self/fd/8/.. && echo ESCAPED`,
  'settings of the kernel':
    'for f in kernel/core_pattern kernel/modprobe vm/drop_caches kernel/hostname; do (: >>/proc/sys/$f) && echo ESCAPED; done; (: >>/proc/sysrq-trigger) && echo ESCAPED; find /proc -maxdepth 3 -writable -type f -not -path "/proc/[0-9]*" -printf "ESCAPED %p\\n"',
  'devices of the host':
    'mknod disk b 254 0 && echo ESCAPED; mknod mem c 1 1 && echo ESCAPED; ls /dev/mem /dev/kmsg /dev/vda /dev/sda /dev/nvme0n1 /dev/fuse && cat /dev/mem',
  'a mount':
    'mount -t tmpfs none /usr && echo ESCAPED; mount -o remount,rw /usr && echo ESCAPED; mount --bind / /tmp && echo ESCAPED; umount /proc/sys && echo ESCAPED',
  'new namespaces': 'for n in U Ur Urm Urn Urp; do unshare -$n true && echo ESCAPED; done',
  'more rights through a setuid file':
    'cp /usr/bin/env up; chmod u+s up; ./up grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status | grep -vE "0000000000000000|NoNewPrivs:.1" && echo ESCAPED; su -c "echo ESCAPED" </dev/null; sudo -n echo ESCAPED',
  'a change of root': 'mkdir -p r; chroot r /bin/true && echo ESCAPED; chroot /proc/1/root ls /home && echo ESCAPED',
  'the network':
    'for at in 1.1.1.1/53 8.8.8.8/443 169.254.169.254/80; do (exec 3<>/dev/tcp/$at) && echo ESCAPED; done; ls /sys/class/net && echo ESCAPED',
  'sockets of the host':
    'ls /run/docker.sock /var/run/docker.sock /run/dbus /run/user /run/systemd /tmp/.X11-unix && echo ESCAPED',
});

describe.skipIf(process.platform !== 'linux')('the sandbox (available on Linux only)', () => {
  test('[TOOL14, TOOL18] a command reaches nothing of the host', async () => {
    const { host, run, file, expectUntouched } = await start();
    symlinkSync(host('data/perdure.db'), file('planted'));
    const tried = Object.entries(attacks(host)).map(([name, command]) => `echo '## ${name}'; (${command})`);
    const { output, sandboxed } = await run(`exec 2>&1; ${tried.join('\n')}; echo '## all'`);
    expect(sandboxed).toBe(true);
    const parts = output.split(/^## /m).slice(1);
    expect(parts.map((part) => part.split('\n')[0])).toEqual([...Object.keys(attacks(host)), 'all']);
    expect(parts.filter((part) => /^ESCAPED|SECRET/m.test(part))).toEqual([]);
    expectUntouched();
  });

  test("[TOOL14] a command writes to its folder and to the session's /tmp, and the next command finds both", async () => {
    const { host, tool, run, contextOf, file } = await start();
    const first = contextOf('a');
    await useTool(
      tool,
      { command: 'echo mine >kept; mkdir /tmp/x; cd /tmp/x; echo t >t; touch ~/.npmrc; umask 077' },
      first,
    );
    expect(readFileSync(file('kept'), 'utf8')).toBe('mine\n');
    expect(readdirSync(host('data/a/tmp')).sort()).toEqual(['.npmrc', 'x']);
    expect(existsSync('/tmp/x/t')).toBe(false);
    const { output } = await run('pwd; cat t; echo $TMPDIR; ls -A ~', { kept: first.keeps()! });
    expect(output).toBe('/tmp/x\nt\n/tmp\n.npmrc\nx\n');
    const other = (await useTool(tool, { command: 'ls -A /tmp . ~; pwd' }, contextOf('b'))) as ShellOutput;
    expect(other.output).not.toMatch(/npmrc|kept|^x/m);
  });

  test('[TOOL18] a command cannot connect to the host, unless the author allows it', async () => {
    const { host, run, file } = await start({ readable: [process.execPath] });
    const [loopback, abstract] = [
      await listen(createServer(), 0),
      await listen(createServer(), `\0perdure-${process.pid}`),
    ];
    const outside = await listen(createServer(), host('home/socket'));
    const byName = (name: string) =>
      `${process.execPath} -e 'require("net").connect(${JSON.stringify(name)}).on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`;
    const tries = `(exec 3<>/dev/tcp/127.0.0.1/${loopback.port} && cat <&3); ${byName(`\0perdure-${process.pid}`)}; ${byName(host('home/socket'))}`;
    const { output } = await run(tries);
    expect(output).toMatch(/refused.*ECONNREFUSED.*ENOENT/s);
    expect([loopback.hits(), abstract.hits(), outside.hits()]).toEqual([0, 0, 0]);
    const { run: runConnected } = await start({ network: true });
    expect((await runConnected(`exec 3<>/dev/tcp/127.0.0.1/${loopback.port}; cat <&3`)).output).toBe('SECRET');
    expect(existsSync(file('x'))).toBe(false);
  });

  test('[TOOL18] a command can see and signal only its own processes', async () => {
    const { host, run, tool, contextOf } = await start();
    const sibling = useTool(
      tool,
      { command: 'echo up; until [ -e go ]; do sleep 0.05; done; exit 5' },
      contextOf('b'),
    ) as Promise<ShellOutput>;
    const record = () => readdirSync(host('records'))[0]!;
    await expect.poll(() => existsSync(host('records', record(), 'group')), { timeout: 20_000 }).toBe(true);
    const pids = ['claimed', 'group'].map(
      (name) => JSON.parse(readFileSync(host('records', record(), name), 'utf8')).pid,
    );
    const each = [...pids, process.pid, process.ppid].map(
      (pid) => `kill -9 ${pid}; cat /proc/${pid}/environ; : >/proc/${pid}/mem;`,
    );
    const { output } = await run(
      `${each.join('\n')} kill -9 1; kill -STOP 1; ps -A -o args= | grep -c 'until'; kill -9 -1`,
    );
    expect(output).not.toMatch(/\0|=/);
    writeFileSync(host('data/b/files/go'), '');
    expect(await sibling).toMatchObject({ exitCode: 5, output: 'up\n' });
  });

  test('[TOOL14] file descriptors that the worker inherited are closed', async () => {
    const { host, options } = await start();
    const script = `
      const { defineShellTool } = await import(${moduleUrl('src/tools/index.ts')});
      const { newToolContext, useTool } = await import(${moduleUrl('test/support/runs/tool-context.ts')});
      const context = newToolContext(${JSON.stringify(host('data/a/files'))});
      const { output } = await useTool(defineShellTool(${JSON.stringify(options)}), { command: 'cat <&9; for fd in /proc/$$/fd/*; do readlink $fd; done' }, context);
      console.log(output);`;
    const secret = openSync(host('data/perdure.db'), 'r');
    const stdio = ['ignore', 'pipe', 'inherit', ...Array.from({ length: 6 }, () => 'ignore' as const), secret] as const;
    const worker = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: [...stdio] });
    const output = await text(worker.stdout!);
    expect(output).toMatch(/descriptor\n\/dev\/null\n\S+\/pipe\n\S+\/pipe\nsocket:\S+\n\n$/);
  });

  test('[TOOL14] variables of an earlier command do not reach the program that builds the sandbox', async () => {
    const { host, run, tool, contextOf } = await start();
    const first = contextOf('a');
    const command = `export LD_DEBUG=files LD_DEBUG_OUTPUT=${host('data/a/tmp/loaded')} LD_PRELOAD=/tmp/none.so`;
    await useTool(tool, { command }, first);
    expect((await run('/usr/bin/true', { kept: first.keeps()! })).output).toContain('none.so');
    expect(readdirSync(host('data/a/tmp'))).toEqual([]);
  });

  test("[TOOL14] in a user's folder, the runtime's own files stay out of reach", async () => {
    const { run, file } = await start();
    mkdirSync(file('.perdure'));
    writeFileSync(file('.perdure/perdure.db'), 'SECRET');
    const { output } = await run(
      'cat .perdure/*; touch .perdure/x; mv .perdure y; rm -rf .perdure; ls -A .perdure; umount .perdure; cat .perdure/*',
    );
    expect(output).not.toContain('SECRET');
    expect(readdirSync(file('.perdure'))).toEqual(['perdure.db']);
  });

  test('[TOOL15] a command cannot forge its exit status or its output', async () => {
    const { host, run } = await start();
    const forged = '{"ended":"exited","exitCode":0,"bytes":0}';
    const tries = `printf 'begun\\0${forged}\\0' >&8; echo '${forged}' >outcome; echo shown; trap - EXIT; exit 9`;
    const { exitCode, output, cwd } = await run(tries);
    expect({ exitCode, output, cwd }).toEqual({ exitCode: 9, output: 'shown\n', cwd: host('data/a/files') });
    const flood = await run('head -c 50000000 /dev/zero >&8; exit 4');
    expect(flood).toMatchObject({ exitCode: 4 });
  });

  test('[TOOL15] a command whose sandbox cannot be built does not run, and the failure is reported', async () => {
    const { tool, contextOf, host } = await start();
    const context = contextOf('a', { temporary: host('nowhere') });
    await expect(useTool(tool, { command: 'echo x >runs' }, context)).rejects.toThrow(
      /could not be started: bwrap: .*nowhere/,
    );
    expect(await tool.reconcile!({ command: '' } as never, context)).toEqual({ outcome: 'not-run' });
  });

  test('[TOOL16] daemons end when their command ends, even if nothing links them to it', async () => {
    const { run, file } = await start();
    const daemon = "env -i setsid nohup bash -c '(sleep 0.3; echo x >late) & exec sleep 60' >/dev/null 2>&1 &";
    expect(await run(`${daemon} (${daemon}); disown -a; echo done`)).toMatchObject({ exitCode: 0, output: 'done\n' });
    await run('sleep 0.6');
    expect(existsSync(file('late'))).toBe(false);
  });

  test('[TOOL16] processes above the limit are killed, however fast they spawn, and the outcome names the limit', async () => {
    const { run } = await start({ limits: { processes: 100 } });
    // A thousand processes and no more: an endless fork bomb may outrun the supervisor and starve the machine.
    const bomb = 'bomb() { [ $1 -eq 0 ] || { bomb $(($1 - 1)) | bomb $(($1 - 1)) & }; sleep 20; }; bomb 9';
    expect(await run(bomb)).toMatchObject({
      limit: 'processes',
      ended: expect.stringContaining('limit of processes'),
    });
    expect(await run('for n in 1 2 3 4 5; do sleep 0.2 & done; wait; echo few')).toMatchObject({ output: 'few\n' });
  });

  test('[TOOL16] memory is limited for all processes together, and shared memory is counted once', async () => {
    const { run } = await start({ limits: { memoryBytes: 60 * 1024 ** 2 } });
    const ended = { limit: 'memory', ended: expect.stringContaining('memory limit') };
    expect(await run('tail /dev/zero')).toMatchObject(ended);
    const small = 'x=$(head -c 30000000 /dev/zero | tr "\\0" x); sleep 20';
    expect(await run(`(${small}) & (${small}) & (${small}) & wait`)).toMatchObject(ended);
    expect(
      await run(
        'x=$(head -c 20000000 /dev/zero | tr "\\0" x); for n in 1 2 3 4 5 6 7 8; do (sleep 1; :) & done; wait; echo shared',
      ),
    ).toMatchObject({ output: 'shared\n' });
  });

  test('[TOOL16] /dev/shm is small', async () => {
    const { run } = await start();
    expect((await run('head -c 100000000 /dev/zero >/dev/shm/x')).output).toContain('No space left');
  });

  test('[TOOL16] a file cannot grow beyond the limit', async () => {
    const { run, file } = await start({ limits: { fileBytes: 1024 ** 2 } });
    expect(await run('ulimit -f unlimited; head -c 5000000 /dev/zero >big')).toMatchObject({
      exitCode: 153,
      limit: 'fileSize',
    });
    expect(statSync(file('big')).size).toBe(1024 ** 2);
  });

  test('[TOOL16] endless output is truncated, and ends at the timeout', async () => {
    const { run, host } = await start({ maxFileBytes: 100_000, maxTextBytes: 1000 });
    const { output, limit } = await run('yes', {}, 700);
    expect(limit).toBe('time');
    expect(output.length).toBeLessThan(2000);
    expect(statSync(host('records', readdirSync(host('records'))[0]!, 'output')).size).toBe(100_000);
  });

  test('[TOOL13] the environment contains nothing of the worker or of Perdure', async () => {
    const { run } = await start({ env: { GIVEN: 'x' } });
    const { output } = await run('/usr/bin/env');
    const names = output
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]!);
    expect(
      names.filter(
        (name) =>
          !/^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TERM|GIVEN|PWD|OLDPWD|SHLVL|_)$/.test(name),
      ),
    ).toEqual([]);
    expect(output).toContain('GIVEN=x\n');
    expect(output).toContain('HOME=/tmp\n');
  });

  test('[TOOL19] with a sandbox no approval is requested', async () => {
    const asksFirst = async (options: ShellOptions = {}): Promise<boolean> =>
      (await defineShellTool(options).approvalFor({ command: 'true' }, { state: emptyState })) !== undefined;
    expect(await asksFirst()).toBe(false);
    expect(await asksFirst({ approval: true })).toBe(true);
    const { caution, description } = defineShellTool();
    expect(caution).toBeUndefined();
    expect(description).toContain('in a sandbox');
    expect(description).toContain('no network');
  });
});
