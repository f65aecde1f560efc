import type { Claim, Holder, Queue } from '../../core/ports/queue.ts';
import type { SessionKey } from '../../core/ports/store.ts';
import { delayOf } from './stored-work.ts';
import type { WorkEntry } from './work-entry.ts';

/** The queue row of a session: pending work, or the remembered place of its files. */
export interface QueuedWork {
  readonly seq: number;
  readonly done: number;
  readonly agent: string;
  readonly priority: number;
  /**
   * When a worker may claim it: when it was entered, when it is due, or when its lease lapses. Infinity if the row
   * only remembers where the session's files are.
   */
  readonly visibleAt: number;
  readonly lacksAgent: boolean;
  readonly place?: string | undefined;
  readonly holder?: Holder | undefined;
}

export const isAmong = (keys: readonly SessionKey[], { workspace, session }: SessionKey): boolean =>
  keys.some((key) => key.workspace === workspace && key.session === session);

/**
 * The row after an append; undefined when there is nothing to enter. A held row keeps its time, because its holder
 * finds the new events.
 */
export const entered = (
  row: QueuedWork | undefined,
  { seq, agent, priority }: WorkEntry,
  now: number,
): QueuedWork | undefined => {
  if (!row) return seq === undefined ? undefined : { seq, done: 0, agent, priority, visibleAt: now, lacksAgent: false };
  const isNews = seq !== undefined && seq > row.seq;
  return {
    ...row,
    seq: isNews ? seq : row.seq,
    agent,
    priority,
    visibleAt: isNews && !row.holder ? Math.min(row.visibleAt, now) : row.visibleAt,
    lacksAgent: row.lacksAgent && !isNews && agent === row.agent,
  };
};

export const claimed = (
  row: QueuedWork,
  { holder, forMs }: Pick<Claim, 'holder' | 'forMs'>,
  now: number,
): QueuedWork => ({
  ...row,
  holder,
  visibleAt: now + forMs,
  lacksAgent: false,
});

/** The row after its work is finished; undefined if nothing is left to do or to remember. */
export const finished = (
  row: QueuedWork,
  { seq, inMs, place = row.place }: Parameters<Queue['finish']>[1],
  now: number,
): QueuedWork | undefined => {
  const done = Math.max(row.done, seq);
  const free = { ...row, done, place, holder: undefined };
  if (row.seq > done) return { ...free, visibleAt: now };
  if (inMs !== undefined) return { ...free, visibleAt: now + delayOf(inMs) };
  return place === undefined ? undefined : { ...free, visibleAt: Number.POSITIVE_INFINITY };
};

export const released = (
  row: QueuedWork,
  { inMs = 0, lacksAgent = false }: Omit<Parameters<Queue['release']>[1], 'worker'>,
  now: number,
): QueuedWork => ({ ...row, visibleAt: now + delayOf(inMs), lacksAgent, holder: undefined });
