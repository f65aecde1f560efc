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

test('[HTTP3] what was asked with a key is done once within a day, and anew after it', async () => {
  const { scope, time } = await newScope();
  const work = counted();
  expect(await answerOnce(scope, request, work)).toEqual({ count: 1 });
  time.now += dayMs - 1;
  expect(await answerOnce(scope, request, work)).toEqual({ count: 1 });
  time.now += 1;
  expect(await answerOnce(scope, request, work)).toEqual({ count: 2 });
});

test('[HTTP3] what lies longer than a day is removed when something else is done', async () => {
  const { scope, time } = await newScope();
  await answerOnce(scope, request, counted());
  time.now += dayMs;
  await answerOnce(scope, { ...request, key: 'another' }, counted());
  expect(await scope.records.records(scope.workspace, 'reply', { limit: 10 })).toHaveLength(1);
});

test('[HTTP3] while the first is under way the second is told so, and nothing is done twice', async () => {
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
  ['something went wrong that should not', new TypeError('a defect')],
] as const)('[HTTP3] where %s, nobody knows whether it was done, and it is not done again', async ([, error]) => {
  const { scope } = await newScope();
  await expect(answerOnce(scope, request, () => Promise.reject(error))).rejects.toBe(error);
  await expect(answerOnce(scope, request, counted())).rejects.toMatchObject({ code: 'KEY_IN_USE' });
});

test('[HTTP3] what was refused was not done: the key is free again', async () => {
  const { scope } = await newScope();
  const refused = new PerdureError('SESSION_NOT_FOUND', 'none');
  await expect(answerOnce(scope, request, () => Promise.reject(refused))).rejects.toBe(refused);
  expect(await answerOnce(scope, request, counted())).toEqual({ count: 1 });
});

test('[HTTP3] who came second to one that was refused meanwhile is next', async () => {
  const { scope } = await newScope();
  let isFirst = true;
  /** The other has written the key a moment before, and has removed it a moment later. */
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
