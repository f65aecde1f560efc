import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

const pidsAtOnce = 512;

/**
 * Reads the list in pieces, because the kernel blocks starting and ending of processes while it produces a long list.
 */
const childrenOf = (path: string, max: number): readonly number[] => {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(8 * pidsAtOnce);
    let text = '';
    for (let read = -1; read !== 0 && text.split(' ').length <= max; text += buffer.toString('latin1', 0, read)) {
      read = readSync(file, buffer);
    }
    return text.split(' ').filter(Boolean).map(Number);
  } finally {
    closeSync(file);
  }
};

const childrenOfAll = (pid: number, max: number): readonly number[] => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      childrenOf(`/proc/${pid}/task/${thread}/children`, max),
    );
  } catch {
    return [];
  }
};

/** A process and its descendants, at most about `max` of them. */
export const processTree = (root: number, max: number): readonly number[] => {
  const pids = [root];
  for (let at = 0; at < pids.length && pids.length < max; at++)
    pids.push(...childrenOfAll(pids[at]!, max - pids.length));
  return pids;
};

const kibibytes = (pid: number, file: 'status' | 'smaps_rollup', field: RegExp): number => {
  try {
    return Number(field.exec(readFileSync(`/proc/${pid}/${file}`, 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
};

const sum = (pids: readonly number[], file: 'status' | 'smaps_rollup', field: RegExp): number =>
  pids.reduce((total, pid) => total + kibibytes(pid, file, field), 0) * 1024;

/**
 * Whether the processes together use more memory than `bytes`. Shared memory is counted once. The exact figure is
 * slow, so it is read only if a rough sum exceeds the limit.
 */
export const holdMore = (pids: readonly number[], bytes: number): boolean =>
  sum(pids, 'status', /^VmRSS:\s+(\d+)/m) > bytes && sum(pids, 'smaps_rollup', /^Pss:\s+(\d+)/m) > bytes;
