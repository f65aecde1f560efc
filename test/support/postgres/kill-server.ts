import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

const childrenOf = (pid: number): readonly number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));

/** Of those that there still are; Z is one that has ended and was not yet asked how. */
const statesOf = (pids: readonly number[]): readonly string[] =>
  spawnSync('ps', ['-o', 'stat=', '-p', pids.join()], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await pause(5);
};

/**
 * SIGKILL to a server and all its processes at once. It is stopped first, so that it neither starts nor mourns any. When this returns,
 * none of them holds anything any more: who dies may take a moment for that.
 */
export const killServer = async (server: ChildProcess): Promise<void> => {
  const exited = once(server, 'exit');
  server.kill('SIGSTOP');
  await until(() => statesOf([server.pid!]).every((state) => /^[TZ]/.test(state)));
  const children = childrenOf(server.pid!);
  for (const pid of children) process.kill(pid, 'SIGKILL');
  server.kill('SIGKILL');
  await exited;
  await until(() => statesOf(children).every((state) => state.startsWith('Z')));
};
