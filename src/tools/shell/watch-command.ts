import type { CommandGroup } from './command-group.ts';
import type { CommandOutcome, CommandRecord, CommandRequest } from './command-record.ts';
import { diskWatch } from './disk-watch.ts';
import { holdMore, processTree } from './process-tree.ts';

export type Reason = Exclude<CommandOutcome['ended'], 'exited' | 'failed'>;

const checkMs = 100;
const maxPids = 1000;

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
 * Makes a check use at most a tenth of a processor, measured in CPU time. If it were limited by wall-clock time, a
 * busy command would slow it down.
 */
const frugal = (check: () => Reason | undefined): (() => Reason | undefined) => {
  let lookAgainAt = 0;
  return () => {
    const [now, before] = [performance.now(), cpuMs()];
    if (now < lookAgainAt) return undefined;
    const found = check();
    lookAgainAt = now + 10 * (cpuMs() - before);
    return found;
  };
};

/** The limit that a command has met, according to the kernel's counters for its group. */
export const groupExcess = (group: CommandGroup, request: Pick<CommandRequest, 'cpuMs'>): Reason | undefined =>
  group.limitHit() ?? ((group.cpuMs() ?? 0) > request.cpuMs ? 'cpu' : undefined);

const treeExcess =
  (root: number, { memoryBytes, processes }: CommandRequest) =>
  (): Reason | undefined => {
    const pids = processTree(root, processes + 1);
    // The kernel lets no more start, so reaching the limit is all that can be seen.
    if (pids.length >= processes) return 'processes';
    return holdMore(pids, memoryBytes) ? 'memory' : undefined;
  };

/** Checks a command ten times a second, and reports once why it must end. Returns a function that ends the checks. */
export const watchCommand = (
  root: number,
  record: CommandRecord,
  request: CommandRequest,
  group: CommandGroup | undefined,
  onReason: (reason: Reason) => void,
): (() => void) => {
  const pids = () => group?.pids() ?? processTree(root, maxPids);
  const { folder, sandbox } = request;
  const isDiskFull = diskWatch([folder, ...(sandbox ? [sandbox.temporary] : [])], request, pids);
  const checks = [
    reasonToEnd(record, request),
    ...(group ? [() => groupExcess(group, request)] : []),
    ...(group?.holdsMemory ? [] : [frugal(treeExcess(root, request))]),
    frugal(() => (isDiskFull() ? 'disk' : undefined)),
  ];
  const timer = setInterval(() => {
    for (const check of checks) {
      const found = check();
      if (!found) continue;
      clearInterval(timer);
      onReason(found);
      return;
    }
  }, checkMs);
  return () => clearInterval(timer);
};
