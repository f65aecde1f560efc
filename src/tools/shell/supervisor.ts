/**
 * Runs one command and outlives the worker that requested it. Argument: the folder of the command's record.
 *
 *   claimed → running → (ending: cancelled | timeout | lapsed | a limit →) exited → leftovers ended → outcome
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants as os } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandGroup } from './command-group.ts';
import { type CommandOutcome, CommandRecord, type CommandRequest } from './command-record.ts';
import { findGroupPlaces } from './group-places.ts';
import { OutputSink } from './output-sink.ts';
import { outputText } from './output-text.ts';
import { parseLeft } from './shell-script.ts';
import { processesOf, startCommand } from './start-command.ts';
import { groupExcess, watchCommand } from './watch-command.ts';

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

/** A command that exceeds one of these is killed without a grace period, in which it could do more harm. */
const harmful: readonly CommandOutcome['ended'][] = ['memory', 'processes', 'disk'];

/** The time from TERM to KILL. */
const graceOf = (ended: CommandOutcome['ended'], { graceMs }: CommandRequest): number =>
  harmful.includes(ended) ? 0 : graceMs;

/** bwrap has two processes of its own. */
const processesOfSandbox = 2;

/** Creates the cgroup of the command. Throws if that fails, because the command must not run without its limits. */
const openGroup = async (record: CommandRecord, request: CommandRequest): Promise<CommandGroup | undefined> => {
  if (!request.isGrouped) return undefined;
  const places = findGroupPlaces();
  if (!places) throw new Error('the cgroup of the command cannot be created: its parent is no longer writable');
  await CommandGroup.removeLeftovers(places);
  const group = CommandGroup.create(places, {
    processes: request.processes + (request.sandbox ? processesOfSandbox : 0),
    memoryBytes: request.memoryBytes,
  });
  record.groupIn(places.version, group.folders);
  return group;
};

const run = async (record: CommandRecord, request: CommandRequest): Promise<CommandOutcome> => {
  if (record.isCancelled()) return { ended: 'cancelled', exitCode: null, bytes: 0 };
  const group = await openGroup(record, request);
  try {
    return await runIn(group, record, request);
  } finally {
    await group?.remove();
  }
};

const runIn = async (
  group: CommandGroup | undefined,
  record: CommandRecord,
  request: CommandRequest,
): Promise<CommandOutcome> => {
  const { sink, writeEnd, drained } = openOutput(record, request.maxFileBytes);
  const { child, leader, left } = startCommand(record, request, writeEnd, group?.entrances ?? []);
  closeSync(writeEnd);
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  exited.catch(() => undefined);
  const first = await leader;
  if (first) record.leadBy(first);
  const processes = processesOf(record, request.sandbox !== undefined, first);
  let ended: CommandOutcome['ended'] = 'exited';
  const end = async (): Promise<void> => {
    const graceMs = graceOf(ended, request);
    // No TERM reaches the processes of a fork bomb in time.
    if (graceMs === 0) await group?.kill();
    await processes.end(graceMs);
  };
  const unwatch = watchCommand(first?.pid ?? child.pid!, record, request, group, (reason) => {
    ended = reason;
    void end();
  });
  const [code, signal] = await exited.finally(unwatch);
  // A command can meet a limit and end between two checks.
  if (ended === 'exited' && group) ended = groupExcess(group, request) ?? ended;
  await end();
  await group?.kill();
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
