import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Another process at work on the text of a module. Imports in it are by URL. */
export interface Script {
  readonly pid: number;
  /** The next line that it printed; undefined when it has ended. */
  line(): Promise<string | undefined>;
  /** A line for it to read. */
  tell(line: string): void;
  /** How it ended, and what it said on stderr. */
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
  kill(): void;
}

/** `wrap` may name a command that runs another, such as strace. */
export const runScript = (text: string, wrap: readonly string[] = []): Script => {
  const [command, ...args] = [...wrap, process.execPath, '--input-type=module', '-e', text];
  const child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  child.stdin.on('error', () => undefined);
  return {
    pid: child.pid!,
    line: async () => (await lines.next()).value,
    tell: (line) => child.stdin.write(`${line}\n`),
    ended: once(child, 'close').then(([code]) => ({ code, said })),
    kill: () => child.kill('SIGKILL'),
  };
};

/** For the text of a script: where a module of this repository is. */
export const moduleUrl = (path: string): string => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
