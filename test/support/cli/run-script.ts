import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A child process that runs a module given as text. The module must import by URL. */
export interface Script {
  readonly pid: number;
  /** Returns the next line that the script prints, or undefined once it has ended. */
  line(): Promise<string | undefined>;
  /** Writes a line to the script's stdin. */
  tell(line: string): void;
  /** Resolves with the exit code and the text of stderr. */
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
  kill(): void;
}

/** Runs a script. `wrap` is a command that runs another one, such as strace. */
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

/** The URL of a module of this repository, quoted for the text of a script. */
export const moduleUrl = (path: string): string => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
