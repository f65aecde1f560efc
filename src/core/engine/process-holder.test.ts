import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { identityOf, statOf } from '../host/process-identity.ts';
import { isGone, isNear, processHolder } from './process-holder.ts';

test.skipIf(!existsSync('/proc/self/ns/pid'))(
  '[RUN19] a dead worker is detected on its own system and container, but not from another (needs /proc)',
  async () => {
    const own = await processHolder('worker_1', '/nowhere');
    const dead = { ...own, process: spawnSync(process.execPath, ['--version']).pid };
    expect(isGone(own, own.machine)).toBe(false);
    expect(isGone(dead, own.machine)).toBe(true);
    expect(isNear(dead, own)).toBe(true);
    const [boot, container] = own.machine.split('/');
    for (const machine of [`${boot}/pid:[1]`, `another-boot/${container}`, hostname()]) {
      expect(isGone({ ...dead, machine }, own.machine)).toBe(false);
      expect(isNear({ ...dead, machine }, own)).toBe(false);
    }
    expect(container).toMatch(/^pid:\[\d+\]$/);
  },
);

test.skipIf(!existsSync('/proc/self/stat'))(
  '[RUN19] a dead worker that its parent has not reaped is treated as dead (needs /proc)',
  async () => {
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60']);
    onTestFinished(() => void parent.kill());
    const [printed] = await once(parent.stdout, 'data');
    const pid = Number(printed);
    // A shell may still wait for it.
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n'), 10_000);
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(() => expect(statOf(pid)?.state).toBe('Z'), 10_000);
    const own = await processHolder('worker_1', '/nowhere');
    const dead = { ...own, process: pid, processStart: identityOf(pid).start };
    expect(isGone(dead, own.machine)).toBe(true);
  },
);
