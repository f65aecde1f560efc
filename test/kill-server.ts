import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';

const childrenOf = (pid: number): readonly number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));

/** SIGKILL to a server and all its processes at once. It is stopped first, so that it neither starts nor mourns any. */
export const killServer = async (server: ChildProcess): Promise<void> => {
  const exited = once(server, 'exit');
  server.kill('SIGSTOP');
  for (const pid of childrenOf(server.pid!)) process.kill(pid, 'SIGKILL');
  server.kill('SIGKILL');
  await exited;
};
