import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const writer = fileURLToPath(new URL('writer.ts', import.meta.url));
const busyMs = 1000;
const leastTurns = 20;

export interface Acknowledged {
  readonly seq: number;
  readonly hash: string;
}

/** Lets a process append for a second, kills it while it goes on, and gives what it was told to be safe. */
export const killAWriter = async (store: string, session: string) => {
  const child = spawn(process.execPath, [writer, store, session], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  const problem = text(child.stderr);
  const acknowledged: Acknowledged[] = [];
  let [turns, started] = [0, 0];
  for await (const line of createInterface(child.stdout)) {
    started ||= Date.now();
    turns += 1;
    if (turns >= leastTurns && Date.now() - started >= busyMs) child.kill('SIGKILL');
    acknowledged.push(...(JSON.parse(line) as Acknowledged[]));
  }
  const [, signal] = await ended;
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself: ${await problem}`);
  return { pid: child.pid, turns, acknowledged };
};
