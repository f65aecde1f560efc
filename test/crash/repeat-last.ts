import assert from 'node:assert/strict';
import type { Runtime } from '../../src/index.ts';
import type { Ledger } from './audit.ts';
import { type MarkedAppend, messagesOf } from './marked-append.ts';
import { isAcknowledged, type Report } from './report.ts';

type Keyed = MarkedAppend & { readonly key: string };

/** The last append with a key in each session, acknowledged or not. */
const lastKeyed = (reports: readonly Report[]): readonly Keyed[] => {
  const last = new Map<string, Keyed>();
  for (const report of reports) {
    if (report.kind !== 'trying') continue;
    const { append } = report;
    if (append.key !== undefined) last.set(append.session, { ...append, key: append.key });
  }
  return [...last.values()];
};

/** Repeats appends, like a client that never got its answer. Returns how many of them had not landed before. */
export const repeatLast = async (
  { sessions }: Runtime,
  { landed }: Ledger,
  reports: readonly Report[],
): Promise<number> => {
  const answers = reports.filter(isAcknowledged);
  let cutOff = 0;
  for (const append of lastKeyed(reports)) {
    const session = await sessions.get(append.session);
    const repeat = async () => {
      const events = await session.append(messagesOf(append), { idempotencyKey: append.key });
      return events.map(({ seq, hash }) => [seq, hash] as const);
    };
    const answer = await repeat();
    const first = answers.find(({ session: id, key }) => id === append.session && key === append.key);
    const messages = first?.events.filter(([seq]) => answer.some(([answered]) => answered === seq));
    if (messages) assert.deepEqual(answer, messages, `the answer to ${append.key} is not the acknowledged one`);
    else if (!landed.has(append.mark)) cutOff++;
    assert.deepEqual(await repeat(), answer, `the answer to ${append.key} changed`);
  }
  return cutOff;
};
