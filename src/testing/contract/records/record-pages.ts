import { expect } from 'vitest';
import type { CallQuery, CallRecord, CommitQuery, SessionKey, Store, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';

type Filter<Q> = Omit<Q, 'limit' | 'before'>;
type Page<Q, R> = (workspace: WorkspaceId, query: Q) => Promise<readonly R[]>;

/** A page limit larger than the number of results in any test. */
const whole = 1_000;

/** All results, in pages of `limit`. */
const inPages = async <
  Q extends Pick<CommitQuery, 'before' | 'limit'>,
  R extends Pick<StoredEvent, 'at' | 'session' | 'seq'>,
>(
  find: Page<Q, R>,
  workspace: WorkspaceId,
  asked: Filter<Q>,
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
  asked: Filter<Q>,
  limits: readonly number[],
): Promise<readonly R[]> => {
  const all = await find(workspace, { ...asked, limit: whole } as Q);
  for (const limit of limits) expect(await inPages(find, workspace, asked, limit)).toEqual(all);
  return all;
};

export const commitsOf = (
  store: Store,
  workspace: WorkspaceId,
  asked: Filter<CommitQuery> = {},
  limits: readonly number[] = [1, 2, 3],
): Promise<readonly StoredEvent[]> => findAll((...query) => store.findCommits(...query), workspace, asked, limits);

export const callsOf = (
  store: Store,
  workspace: WorkspaceId,
  asked: Filter<CallQuery> = {},
  limits: readonly number[] = [1, 2, 3],
): Promise<readonly CallRecord[]> => findAll((...query) => store.findCalls(...query), workspace, asked, limits);

/** The session, with these ranges both queried and live. */
export const within = (
  { session }: SessionKey,
  ...ranges: readonly (readonly [number, number])[]
): { readonly within: NonNullable<CallQuery['within']> } => ({ within: { session, ranges, live: ranges } });
