import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type Report, reportFd } from './report.ts';

/** A running appender and its reports. */
export interface Appender {
  readonly reports: readonly Report[];
  /** Resolves after `count` more reports of this kind. Rejects when the process ends by itself. */
  next(kind: Report['kind'], count?: number): Promise<void>;
  /** Sends SIGKILL, and resolves once all output of the process has been read. */
  kill(): Promise<void>;
}

interface Waiting {
  readonly kind: Report['kind'];
  left: number;
  resolve(): void;
  reject(error: Error): void;
}

const program = fileURLToPath(new URL('./appender.ts', import.meta.url));

/** Reads the lines of a child's output. Ignores a last line that the kill cut short. */
const readLines = (child: ChildProcess, onLine: (line: string) => void): void => {
  let rest = '';
  child.stdio[reportFd]!.on('data', (chunk) => {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop()!;
    lines.forEach(onLine);
  });
};

export const startAppender = (address: string, round: number, mode?: 'outages'): Appender => {
  const child = spawn(process.execPath, [program, address, `${round}`, ...(mode ? [mode] : [])], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const reports: Report[] = [];
  let waiting: Waiting[] = [];
  let said = '';
  child.stderr!.on('data', (chunk) => {
    said += chunk;
  });
  readLines(child, (line) => {
    const report = JSON.parse(line) as Report;
    reports.push(report);
    if (report.kind === 'failed') said += report.reason;
    for (const each of waiting) if (each.kind === report.kind && --each.left === 0) each.resolve();
    waiting = waiting.filter(({ left }) => left > 0);
  });
  const endedByItself = () => new Error(`the appender exited unexpectedly: ${said}`);
  let ended = false;
  const closed = once(child, 'close')
    .catch((error) => {
      said += error;
    })
    .then(() => {
      ended = true;
      for (const each of waiting) each.reject(endedByItself());
    });
  return {
    reports,
    next: (kind, left = 1) =>
      new Promise((resolve, reject) => {
        if (ended) reject(endedByItself());
        else waiting.push({ kind, left, resolve, reject });
      }),
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
      if (child.signalCode !== 'SIGKILL') throw endedByItself();
    },
  };
};
