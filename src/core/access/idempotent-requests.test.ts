import { expect, onTestFinished, test } from 'vitest';
import { openStoreAt } from '../../../test/support/stores/open-store.ts';
import { newSqliteFile } from '../../../test/support/stores/sqlite-file.ts';
import { PerdureError } from '../../schema/error.ts';
import { MemberId, memberActor, WorkspaceId } from '../../schema/ids.ts';
import type { Records } from '../ports/records.ts';
import { systemTimekeeper } from '../ports/timekeeper.ts';
import { answerOnce, type OnceScope } from './idempotent-requests.ts';

const dayMs = 24 * 3_600_000;
const request = { key: 'k', of: 'openSession', body: { title: 'Once' } };

const newScope = async () => {
  const store = await openStoreAt(`sqlite:${newSqliteFile()}`);
  onTestFinished(() => store.close());
  const time = { now: 1_000_000 };
  const scope: OnceScope = {
    records: store,
    workspace: WorkspaceId.parse('local'),
    actor: memberActor(MemberId.parse('ann')),
    clock: systemTimekeeper({ now: () => time.now }),
  };
  return { scope, time };
};

const counted = () => {
  let count = 0;
  return async () => ({ count: ++count });
};

test('[HTTP3] a request with a key runs once within a day, and can run again after that day', async () => {
  const { scope, time } = await newScope();
  const work = counted();
  expect(await answerOnce(scope, request, work)).toEqual({ count: 1 });
  time.now += dayMs - 1;
  expect(await answerOnce(scope, request, work)).toEqual({ count: 1 });
  time.now += 1;
  expect(await answerOnce(scope, request, work)).toEqual({ count: 2 });
});

test('[HTTP3] answers older than a day are removed when another request runs', async () => {
  const { scope, time } = await newScope();
  await answerOnce(scope, request, counted());
  time.now += dayMs;
  await answerOnce(scope, { ...request, key: 'another' }, counted());
  expect(await scope.records.records(scope.workspace, 'reply', { limit: 10 })).toHaveLength(1);
});

test('[HTTP18] a second request fails with a conflict while the first is in flight, and nothing runs twice', async () => {
  const { scope } = await newScope();
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<string>();
  const first = answerOnce(scope, request, () => {
    begun.resolve();
    return end.promise;
  });
  await begun.promise;
  await expect(answerOnce(scope, request, counted())).rejects.toMatchObject({ code: 'KEY_IN_USE' });
  end.resolve('done');
  expect(await first).toBe('done');
});

test.for([
  ['the store was lost', new PerdureError('STORE_UNAVAILABLE', 'gone')],
  ['a defect occurred', new TypeError('a defect')],
] as const)('[HTTP18] where %s, the outcome is unknown, and the request does not run again', async ([, error]) => {
  const { scope } = await newScope();
  await expect(answerOnce(scope, request, () => Promise.reject(error))).rejects.toBe(error);
  await expect(answerOnce(scope, request, counted())).rejects.toMatchObject({ code: 'KEY_IN_USE' });
});

test('[HTTP3] a rejected request leaves its key unused', async () => {
  const { scope } = await newScope();
  const refused = new PerdureError('SESSION_NOT_FOUND', 'none');
  await expect(answerOnce(scope, request, () => Promise.reject(refused))).rejects.toBe(refused);
  expect(await answerOnce(scope, request, counted())).toEqual({ count: 1 });
});

test('[HTTP3] a second request runs when the first was rejected meanwhile', async () => {
  const { scope } = await newScope();
  let isFirst = true;
  /** Records in which another request wrote the key a moment before, and removes it a moment later. */
  const beaten: Records = {
    record: (...asked) => scope.records.record(...asked),
    records: (...asked) => scope.records.records(...asked),
    writeRecords: async (...asked) => {
      if (!isFirst) return scope.records.writeRecords(...asked);
      isFirst = false;
      return false;
    },
  };
  expect(await answerOnce({ ...scope, records: beaten }, request, counted())).toEqual({ count: 1 });
});
