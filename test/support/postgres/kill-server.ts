import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

const childrenOf = (pid: number): readonly number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));

/**
 * The `ps` states of those processes that still exist. Z is a zombie: it has exited, but its parent has not collected
 * its exit status.
 */
const statesOf = (pids: readonly number[]): readonly string[] =>
  spawnSync('ps', ['-o', 'stat=', '-p', pids.join()], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await pause(5);
};

/**
 * Sends SIGKILL to a server and all its child processes. SIGSTOP is sent first, so that the server neither starts new
 * children nor reacts to dying ones. Returns when all of them have released their files, which can take a moment.
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
