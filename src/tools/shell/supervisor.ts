/**
 * Runs one command and outlives the worker that requested it. Argument: the folder of the command's record.
 *
 *   claimed → running → (ending: cancelled | timeout | lapsed | memory | processes →) exited → leftovers ended → outcome
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants as os } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandOutcome, CommandRecord, type CommandRequest } from './command-record.ts';
import { OutputSink } from './output-sink.ts';
import { outputText } from './output-text.ts';
import { holdMore, processTree } from './process-tree.ts';
import { parseLeft } from './shell-script.ts';
import { processesOf, startCommand } from './start-command.ts';

const checkMs = 100;
/** A limit for the case that an unknown process keeps the pipe open. */
const maxDrainMs = 1000;

const closedOnExec = 0o2000000;

const isInherited = (descriptor: number): boolean => {
  try {
    const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closedOnExec) === 0;
  } catch {
    return false;
  }
};

/** Closes descriptors inherited from the program that started the worker, so that commands do not get them. Node's own are close-on-exec. */
const closeInherited = (): void => {
  if (process.platform !== 'linux') return;
  const descriptors = readdirSync('/proc/self/fd').map(Number);
  for (const each of descriptors.filter((descriptor) => descriptor > 2 && isInherited(descriptor))) closeSync(each);
};

interface Output {
  readonly sink: OutputSink;
  readonly writeEnd: number;
  readonly drained: Promise<unknown>;
}

/** Uses a named pipe, so that both streams keep their order and /dev/stdout can be opened. */
const openOutput = (record: CommandRecord, maxFileBytes: number): Output => {
  const path = record.path('pipe');
  const made = spawnSync('mkfifo', ['-m', '600', path]);
  if (made.status !== 0) throw new Error(`cannot create the output pipe ${path}: ${made.error ?? made.stderr}`);
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  const sink = new OutputSink(record, maxFileBytes);
  const reader = new Socket({ fd: readEnd, readable: true, writable: false });
  reader.on('data', (chunk) => sink.write(chunk));
  return { sink, writeEnd, drained: once(reader, 'close') };
};

type Reason = Exclude<CommandOutcome['ended'], 'exited' | 'failed'>;

/** Uses a clock that stops while the machine sleeps, because a sleeping runner cannot renew the lease. */
const reasonToEnd = (record: CommandRecord, { timeoutMs, leaseMs }: CommandRequest) => {
  const startedAt = performance.now();
  let mark = record.leaseMark();
  let renewedAt = startedAt;
  return (): Reason | undefined => {
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

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/**
 * Checks the limits with at most a tenth of a processor, measured in CPU time. If they were limited by wall-clock
 * time, a busy command would slow them down.
 */
const excess = (root: number, { memoryBytes, processes }: CommandRequest) => {
  let lookAgainAt = 0;
  return (): Reason | undefined => {
    const [now, before] = [performance.now(), cpuMs()];
    if (now < lookAgainAt) return undefined;
    const pids = processTree(root, processes + 1);
    if (pids.length > processes) return 'processes';
    const isTooMuch = holdMore(pids, memoryBytes);
    lookAgainAt = now + 10 * (cpuMs() - before);
    return isTooMuch ? 'memory' : undefined;
  };
};

const watch = (root: number, record: CommandRecord, request: CommandRequest, onReason: (reason: Reason) => void) => {
  const [reason, tooMuch] = [reasonToEnd(record, request), excess(root, request)];
  const timer = setInterval(() => {
    const found = reason() ?? tooMuch();
    if (!found) return;
    clearInterval(timer);
    onReason(found);
  }, checkMs);
  return () => clearInterval(timer);
};

/** The time from TERM to KILL. A command that exceeds memory or processes is killed without a grace period. */
const graceOf = (ended: CommandOutcome['ended'], { graceMs }: CommandRequest): number =>
  ended === 'memory' || ended === 'processes' ? 0 : graceMs;

const run = async (record: CommandRecord, request: CommandRequest): Promise<CommandOutcome> => {
  if (record.isCancelled()) return { ended: 'cancelled', exitCode: null, bytes: 0 };
  const { sink, writeEnd, drained } = openOutput(record, request.maxFileBytes);
  const { child, leader, left } = startCommand(record, request, writeEnd);
  closeSync(writeEnd);
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  exited.catch(() => undefined);
  const first = await leader;
  if (first) record.leadBy(first);
  const processes = processesOf(record, request.sandbox !== undefined, first);
  let ended: CommandOutcome['ended'] = 'exited';
  const unwatch = watch(first?.pid ?? child.pid!, record, request, (reason) => {
    ended = reason;
    void processes.end(graceOf(reason, request));
  });
  const [code, signal] = await exited.finally(unwatch);
  await processes.end(graceOf(ended, request));
  await Promise.race([Promise.all([drained, left.ended]), sleep(maxDrainMs)]);
  sink.close();
  if (ended === 'exited' && left.isWhole && !parseLeft(left.text()).hasBegun) {
    return { ended: 'failed', exitCode: null, bytes: sink.bytes, message: outputText(record, 4000).trim() };
  }
  record.leave(left.text());
  return { ended, exitCode: code ?? 128 + os.signals[signal!], bytes: sink.bytes };
};

const record = new CommandRecord(process.argv[2]!);
if (record.claim()) {
  closeInherited();
  // A signal cancels the command through the record.
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
