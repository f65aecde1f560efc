import { spawn } from 'node:child_process';
import { endedByOthers, strayError, unfinished } from './config/running-config.ts';
import { reportToolRejection } from './config/tool-rejections.ts';
import { report, reportAtOnce, runCli } from './dispatch/run-cli.ts';
import type { World } from './parse/world.ts';
import { dropSignalEchoes } from './render/drop-signal-echoes.ts';
import { personAt } from './runs/person.ts';
import { parentProcess, startWorkerProcess } from './serve/worker-process.ts';
import { readHiddenLine } from './terminal/hidden-line.ts';
import { printableLine } from './terminal/printable.ts';
import { programName } from './terminal/program-name.ts';
import { terminalOf } from './terminal/terminal.ts';

/** Starts another `perdure` process, which outlives this process and its terminal. */
const startDetached = (
  args: readonly string[],
  options: { readonly folder: string; readonly env: Readonly<Record<string, string | undefined>> },
): void => {
  spawn(process.execPath, [process.argv[1]!, ...args], {
    cwd: options.folder,
    env: options.env,
    detached: true,
    stdio: 'ignore',
  }).unref();
};

const world: World = {
  argv: process.argv.slice(2),
  env: process.env,
  program: programName(process.argv[1]!, process.cwd()),
  folder: process.cwd(),
  stdin: () => process.stdin,
  out: terminalOf(process.stdout, 'stdout'),
  err: terminalOf(process.stderr, 'stderr'),
  now: Date.now,
  interrupted: () => {
    const controller = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
    return controller.signal;
  },
  onInterrupt: (listener) => {
    const hear = dropSignalEchoes(listener);
    const interrupt = () => hear('interrupt');
    const leave = () => hear('leave');
    process.on('SIGINT', interrupt).on('SIGTERM', leave).on('SIGHUP', leave);
    return () => void process.off('SIGINT', interrupt).off('SIGTERM', leave).off('SIGHUP', leave);
  },
  person: (anyInput) => (anyInput || process.stdin.isTTY ? personAt(process.stdin, process.stdout) : undefined),
  ...(process.stdin.isTTY && {
    hiddenLine: (prompt: string) => readHiddenLine(process.stdin, process.stderr, prompt),
  }),
  startDetached,
  startWorkerProcess,
  parent: parentProcess(),
  call: (argv, differing) => runCli({ ...world, ...differing, argv }),
  // Loaded on demand, so that help and version answer immediately.
  openRuntime: async (options) => (await import('../runtime.ts')).openRuntime(options),
};

let isOver = false;
// Kept because `process.exit` is replaced while a configuration is loaded.
const exit = process.exit.bind(process);
const end = (code: number): never => {
  isOver = true;
  return exit(code);
};
const fail = async (error: unknown): Promise<never> => end(await report(world, error));
process.on('uncaughtException', (error) => void strayError(error).then(fail));
const warn = (text: string): void => void world.err.write(`warning: ${printableLine(text)}\n`).catch(() => {});
// A promise that a tool forgot must not end the work of others. Every other rejection is a defect and ends the process.
process.on('unhandledRejection', (reason) => {
  if (!reportToolRejection(reason, warn)) throw reason;
});
// The event loop is empty but no exit code was set. Without this, the process would exit as if it had succeeded.
process.once('beforeExit', () => void fail(unfinished()));
// The same applies when other code ends the process during a command.
process.once('exit', () => {
  const fault = isOver ? undefined : endedByOthers();
  if (fault) process.exitCode = reportAtOnce(world, fault);
});

// All output is flushed at this point. Exit explicitly, because an unread stdin would keep the process alive.
end(await runCli(world));
