import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isPerdureError } from '../../schema/error.ts';
import { CommandProcesses } from './command-processes.ts';
import type { CommandOutcome, CommandRecord } from './command-record.ts';
import { isRunning } from './process-identity.ts';
import { TailReader } from './tail-reader.ts';

const entry = fileURLToPath(new URL(`./supervisor${extname(import.meta.url)}`, import.meta.url));
const maxWaitMs = 200;
const maxRenewMs = 5000;

export interface Following {
  readonly signal: AbortSignal;
  onOutput(text: string): void;
}

/** Not a child that could be left behind: it leads its own session, and has nothing of ours open. */
const startSupervisor = (record: CommandRecord): { hasEnded(): boolean } => {
  const log = openSync(record.path('log'), 'a', 0o600);
  const child = spawn(process.execPath, [entry, record.folder], {
    cwd: record.folder,
    detached: true,
    env: { PATH: process.env.PATH },
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

/** A worker that stops leaves the command to the next one. */
const isHandedOn = (signal: AbortSignal): boolean => isPerdureError(signal.reason, 'RUNTIME_CLOSED');

/** Nobody records any more how it ends, so nothing of it may go on. */
const endAbandoned = async (record: CommandRecord): Promise<void> => {
  const leader = record.leader();
  const group = leader && isRunning(leader) ? leader.pid : undefined;
  await new CommandProcesses(group, record.folder).end(record.request().graceMs);
};

/**
 * Waits for the command of a record to end; whoever is the first to follow it has it started. `lost` when its supervisor was killed, which
 * leaves unknown how far the command came.
 */
export const followCommand = async (
  record: CommandRecord,
  { signal, onOutput }: Following,
): Promise<CommandOutcome | 'lost'> => {
  const runner = randomUUID();
  const { leaseMs, graceMs } = record.request();
  const finished = record.outcome();
  if (finished) return finished;
  record.attach(runner);
  const supervisor = record.claimedBy() ? undefined : startSupervisor(record);
  const output = new TailReader(record.path('output'));
  let renewedAt = performance.now();
  let abortedAt: number | undefined;
  const abort = () => {
    abortedAt = performance.now();
    if (!isHandedOn(signal) && record.isAttached(runner)) record.cancel();
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    for (let waitMs = 10; ; waitMs = Math.min(maxWaitMs, waitMs * 1.3)) {
      const claimed = record.claimedBy();
      const isLost = claimed ? !isRunning(claimed) : supervisor?.hasEnded();
      const outcome = record.outcome();
      const text = output.next();
      if (text) onOutput(text);
      if (abortedAt !== undefined && (outcome || isHandedOn(signal) || isLate(abortedAt, graceMs))) throw signal.reason;
      if (outcome) return outcome;
      if (isLost) {
        await endAbandoned(record);
        return 'lost';
      }
      if (abortedAt === undefined && performance.now() - renewedAt > Math.min(maxRenewMs, leaseMs / 4)) {
        record.renew();
        renewedAt = performance.now();
      }
      await sleep(waitMs, undefined, abortedAt === undefined ? { signal } : {}).catch(() => undefined);
    }
  } finally {
    signal.removeEventListener('abort', abort);
    output.close();
  }
};

const isLate = (since: number, graceMs: number): boolean => performance.now() - since > graceMs + 5000;
