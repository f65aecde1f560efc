import { expect, test } from 'vitest';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { systemTimekeeper } from '../ports/timekeeper.ts';
import { retryConflicts } from './conflict-retry.ts';

const key = { workspace: 'local' as WorkspaceId, session: 'ses_01m7jn7b4146jf3n8ccdbc9np6' as SessionId };

/** A clock whose sleeps end immediately, and a random source that always returns the same number. */
const scopeWith = (chance: number) => {
  const slept: number[] = [];
  const sleep = async (ms: number): Promise<void> => void slept.push(ms);
  const random = { number: () => chance, bytes: (count: number) => new Uint8Array(count) };
  return { slept, scope: { clock: { ...systemTimekeeper(), sleep }, random } };
};

test('conflicting attempts wait by the injected clock and randomness, and fail after twenty attempts', async () => {
  const { slept, scope } = scopeWith(0.5);
  const retrying = retryConflicts(scope, key, async () => ({ conflict: undefined }));
  await expect(retrying).rejects.toMatchObject({ code: 'CONFLICT', details: { attempts: 20 } });
  expect(slept.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 25]);
  expect(slept).toHaveLength(18);
  expect(Math.max(...slept)).toBe(25);
});

test('after an attempt succeeds there is no further wait', async () => {
  const { slept, scope } = scopeWith(0.5);
  const tried = await retryConflicts(scope, key, async ({ attempt }) =>
    attempt < 2 ? { conflict: undefined } : { done: attempt },
  );
  expect(tried).toBe(2);
  expect(slept).toEqual([1]);
});
