/**
 * Runs one command and outlives who asked for it. Argument: the folder of the command's record.
 *
 *   claimed → running → (ending: cancelled | timeout | lapsed →) exited → what it left is ended → outcome
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants as os } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandProcesses } from './command-processes.ts';
import { type CommandOutcome, CommandRecord, type CommandRequest } from './command-record.ts';
import { applyChanges } from './environment.ts';
import { OutputSink } from './output-sink.ts';
import { identityOf } from './process-identity.ts';
import { markName } from './process-search.ts';
import { shellScript } from './shell-script.ts';

const checkMs = 100;
/** For a writer that cannot be found and keeps the pipe open. */
const maxDrainMs = 1000;

interface Output {
  readonly sink: OutputSink;
  readonly writeEnd: number;
  readonly drained: Promise<unknown>;
}

/** A named pipe: both streams in the order in which they were written, and one that /dev/stdout can be opened by. */
const openOutput = (record: CommandRecord, maxFileBytes: number): Output => {
  const path = record.path('pipe');
  const made = spawnSync('mkfifo', ['-m', '600', path]);
  if (made.status !== 0) throw new Error(`no pipe for the output could be made: ${made.error ?? made.stderr}`);
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  const sink = new OutputSink(record, maxFileBytes);
  const reader = new Socket({ fd: readEnd, readable: true, writable: false });
  reader.on('data', (chunk) => sink.write(chunk));
  return { sink, writeEnd, drained: once(reader, 'close') };
};

const start = (record: CommandRecord, request: CommandRequest, output: number): ChildProcess =>
  spawn(request.shell, ['-c', shellScript(record), basename(request.shell), request.command], {
    cwd: request.cwd,
    env: { ...applyChanges(request.base, request.changes), [markName]: record.folder },
    detached: true,
    stdio: ['ignore', output, output],
  });

/** By a clock that stands still while the machine sleeps: a runner that slept as well has missed nothing. */
const reasonToEnd = (record: CommandRecord, { timeoutMs, leaseMs }: CommandRequest) => {
  const startedAt = performance.now();
  let mark = record.leaseMark();
  let renewedAt = startedAt;
  return (): 'cancelled' | 'timeout' | 'lapsed' | undefined => {
    const now = performance.now();
    if (record.leaseMark() !== mark) {
      mark = record.leaseMark();
      renewedAt = now;
    }
    if (record.isCancelled()) return 'cancelled';
    if (now - startedAt > timeoutMs) return 'timeout';
    return now - renewedAt > leaseMs ? 'lapsed' : undefined;
  };
};

const run = async (record: CommandRecord, request: CommandRequest): Promise<CommandOutcome> => {
  if (record.isCancelled()) return { ended: 'cancelled', exitCode: null, bytes: 0 };
  const { sink, writeEnd, drained } = openOutput(record, request.maxFileBytes);
  const child = start(record, request, writeEnd);
  closeSync(writeEnd);
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  if (child.pid) record.leadBy(identityOf(child.pid));
  const processes = new CommandProcesses(child.pid, record.folder);
  let ended: CommandOutcome['ended'] = 'exited';
  const reason = reasonToEnd(record, request);
  const watch = setInterval(() => {
    const found = reason();
    if (!found) return;
    clearInterval(watch);
    ended = found;
    void processes.end(request.graceMs);
  }, checkMs);
  const [code, signal] = await exited.finally(() => clearInterval(watch));
  await processes.end(request.graceMs);
  await Promise.race([drained, sleep(maxDrainMs)]);
  sink.close();
  return { ended, exitCode: code ?? 128 + os.signals[signal!], bytes: sink.bytes };
};

const record = new CommandRecord(process.argv[2]!);
if (record.claim()) {
  // Whoever wants it to end says so in the record.
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => record.cancel());
  const outcome = await run(record, record.request()).catch(
    (error): CommandOutcome => ({
      ended: 'failed',
      exitCode: null,
      bytes: 0,
      message: String(error?.message ?? error),
    }),
  );
  record.end(outcome);
}
process.exit();
