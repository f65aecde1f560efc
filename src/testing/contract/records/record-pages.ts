import { expect } from 'vitest';
import type { CallQuery, CallRecord, CommitQuery, SessionKey, Store, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';

type Asked<Q> = Omit<Q, 'limit' | 'before'>;
type Page<Q, R> = (workspace: WorkspaceId, query: Q) => Promise<readonly R[]>;

/** Large enough for all of a test. */
const whole = 1_000;

/** All that is found, in pages of so many; checked to be the same in one. */
const inPages = async <
  Q extends Pick<CommitQuery, 'before' | 'limit'>,
  R extends Pick<StoredEvent, 'at' | 'session' | 'seq'>,
>(
  find: Page<Q, R>,
  workspace: WorkspaceId,
  asked: Asked<Q>,
  limit: number,
): Promise<readonly R[]> => {
  const all: R[] = [];
  for (let before: CallQuery['before']; ; ) {
    const page = await find(workspace, { ...asked, limit, before } as unknown as Q);
    expect(page.length).toBeLessThanOrEqual(limit);
    all.push(...page);
    const last = page.at(-1);
    if (!last) return all;
    before = { at: last.at, session: last.session, seq: last.seq };
  }
};

const findAll = async <
  Q extends Pick<CommitQuery, 'before' | 'limit'>,
  R extends Pick<StoredEvent, 'at' | 'session' | 'seq'>,
>(
  find: Page<Q, R>,
  workspace: WorkspaceId,
  asked: Asked<Q>,
  limits: readonly number[],
): Promise<readonly R[]> => {
  const all = await find(workspace, { ...asked, limit: whole } as Q);
  for (const limit of limits) expect(await inPages(find, workspace, asked, limit)).toEqual(all);
  return all;
};

export const commitsOf = (
  store: Store,
  workspace: WorkspaceId,
  asked: Asked<CommitQuery> = {},
  limits: readonly number[] = [1, 2, 3],
): Promise<readonly StoredEvent[]> => findAll((...query) => store.findCommits(...query), workspace, asked, limits);

export const callsOf = (
  store: Store,
  workspace: WorkspaceId,
  asked: Asked<CallQuery> = {},
  limits: readonly number[] = [1, 2, 3],
): Promise<readonly CallRecord[]> => findAll((...query) => store.findCalls(...query), workspace, asked, limits);

/** What a session has live in the ranges, and nothing else. */
export const within = (
  { session }: SessionKey,
  ...ranges: readonly (readonly [number, number])[]
): { readonly within: NonNullable<CallQuery['within']> } => ({ within: { session, ranges, live: ranges } });
