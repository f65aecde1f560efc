import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { isGone, isNear, processHolder } from './process-holder.ts';

test.skipIf(!existsSync('/proc/self/ns/pid'))(
  '[RUN19] a dead worker is seen here, and no process of another system or container is taken for it (needs /proc)',
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
