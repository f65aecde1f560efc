import { spawn } from 'node:child_process';
import { endedByOthers, strayError, unfinished } from './config/running-config.ts';
import { report, reportAtOnce, runCli } from './dispatch/run-cli.ts';
import type { World } from './parse/world.ts';
import { dropSignalEchoes } from './render/drop-signal-echoes.ts';
import { personAt } from './runs/person.ts';
import { readHiddenLine } from './terminal/hidden-line.ts';
import { programName } from './terminal/program-name.ts';
import { terminalOf } from './terminal/terminal.ts';

/** Another `perdure` that outlives this process and its terminal. */
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
  call: (argv, differing) => runCli({ ...world, ...differing, argv }),
  // Loaded when a command needs it: help and versions come at once.
  openRuntime: async (options) => (await import('../runtime.ts')).openRuntime(options),
};

let isOver = false;
// That of the process is taken away while a configuration is loaded.
const exit = process.exit.bind(process);
const end = (code: number): never => {
  isOver = true;
  return exit(code);
};
const fail = async (error: unknown): Promise<never> => end(await report(world, error));
process.on('uncaughtException', (error) => void strayError(error).then(fail));
// Nothing is left to wait for and no exit code was given: an end that would look like success.
process.once('beforeExit', () => void fail(unfinished()));
// So would that of somebody else who ends the process.
process.once('exit', () => {
  const fault = isOver ? undefined : endedByOthers();
  if (fault) process.exitCode = reportAtOnce(world, fault);
});

// What was written has been taken by its stream, and an input that nobody needs any more must not keep the process.
end(await runCli(world));
