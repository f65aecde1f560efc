import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause } from '../../concurrency/pause.ts';
import { isRunning } from '../../core/host/process-identity.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { CommandOutcome, CommandRecord, CommandRequest } from './command-record.ts';
import { processesOf } from './start-command.ts';
import { TailReader } from './tail-reader.ts';

const entry = fileURLToPath(new URL(`./supervisor${extname(import.meta.url)}`, import.meta.url));
/** Used instead of the worker's PATH, which may lead into a folder that commands can write to. */
const systemPath = '/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin';
const maxWaitMs = 200;
const maxRenewMs = 5000;

export interface Following {
  readonly signal: AbortSignal;
  onOutput(text: string): void;
}

/** Starts the supervisor detached: it leads its own process session and shares no descriptors with the worker. */
const startSupervisor = (record: CommandRecord): { hasEnded(): boolean } => {
  const log = openSync(record.path('log'), 'a', 0o600);
  const child = spawn(process.execPath, [entry, record.folder], {
    cwd: record.folder,
    detached: true,
    env: { PATH: systemPath },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  child.once('exit', end).once('error', end).unref();
  return { hasEnded: () => hasEnded };
};

/**
 * Whether the abort means that the worker is stopping. The command then continues, and the next worker waits for it.
 */
const isHandedOn = (signal: AbortSignal): boolean => isPerdureError(signal.reason, 'RUNTIME_CLOSED');

/** Ends the processes of a command whose supervisor is gone, because nothing would record their outcome. */
const endAbandoned = async (record: CommandRecord, { sandbox, graceMs }: CommandRequest): Promise<void> => {
  const [supervisor, leader] = [record.claimedBy(), record.leader()];
  if (supervisor && isRunning(supervisor)) process.kill(supervisor.pid, 'SIGKILL');
  await processesOf(record, sandbox !== undefined, leader).end(graceMs);
  await record.group()?.remove();
};

/**
 * The time after which the runner gives up on a supervisor that does not react. A command can stop its own supervisor
 * with SIGSTOP.
 */
const slackMs = { timeout: 10_000, cancel: 3000 };

/**
 * Waits for the command of a record to end. The first follower starts the command. Returns `lost` if its supervisor
 * was killed or its record deleted. It is then unknown how much of the command ran.
 */
export const followCommand = async (
  record: CommandRecord,
  { signal, onOutput }: Following,
): Promise<CommandOutcome | 'lost'> => {
  const runner = randomUUID();
  const request = record.request();
  const { leaseMs, graceMs, timeoutMs } = request;
  const finished = record.outcome();
  if (finished) return finished;
  record.attach(runner);
  const supervisor = record.claimedBy() ? undefined : startSupervisor(record);
  const output = new TailReader(record.path('output'));
  let renewedAt = performance.now();
  let lateAt = renewedAt + timeoutMs + graceMs + slackMs.timeout;
  const abort = () => {
    lateAt = performance.now() + graceMs + slackMs.cancel;
    if (!isHandedOn(signal) && record.isAttached(runner)) record.cancel();
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });

  const isLost = (): boolean => {
    const claimed = record.claimedBy();
    if (!record.exists() || performance.now() > lateAt) return true;
    return claimed ? !isRunning(claimed) : (supervisor?.hasEnded() ?? false);
  };
  const renewWhenDue = (): void => {
    if (signal.aborted || performance.now() - renewedAt < Math.min(maxRenewMs, leaseMs / 4)) return;
    record.renew();
    renewedAt = performance.now();
  };
  try {
    for (let waitMs = 10; ; waitMs = Math.min(maxWaitMs, waitMs * 1.3)) {
      const wasLost = isLost();
      // Reads the outcome after checking the supervisor, which writes the outcome last.
      const outcome = record.outcome();
      const text = output.next();
      if (text) onOutput(text);
      if (signal.aborted && (isHandedOn(signal) || !record.isAttached(runner))) throw signal.reason;
      if (wasLost && !outcome) await endAbandoned(record, request);
      if (wasLost || outcome) {
        signal.throwIfAborted();
        return outcome ?? 'lost';
      }
      renewWhenDue();
      await pause(waitMs, signal.aborted ? {} : { signal });
    }
  } finally {
    signal.removeEventListener('abort', abort);
    output.close();
  }
};
