import type { Sessions } from '../../core/runtime/sessions.ts';
import { PerdureError } from '../../schema/error.ts';
import { SessionId } from '../../schema/ids.ts';
import { type Status, statuses } from '../../schema/statuses.ts';
import { checkIdPart, findId, isIdPart, type Named } from './find-id.ts';

/** The argument that means the session that changed last. */
export const mostRecent = '-';

const pageSize = 200;
/** More sessions than `findId` shows. */
const maxFitting = 10;

const fitting = async (sessions: Sessions, idPart: string): Promise<readonly Named<SessionId>[]> => {
  const { sessions: found } = await sessions.list({ idPart, limit: maxFitting });
  return found.map(({ id, title }) => ({ id, about: title }));
};

const kind = {
  noun: 'session',
  prefix: 'ses_',
  takesAnyBeginning: true,
  isWhole: (text: string) => SessionId.safeParse(text).success,
  listing: 'perdure ls',
} as const;

/** All statuses except `archived`: archived sessions, such as replays, are no longer in use. */
export const inUse = statuses.filter((status) => status !== 'archived');

const newestOf = async (sessions: Sessions, lastOf: readonly Status[]): Promise<SessionId> => {
  for (const status of [lastOf, statuses]) {
    const { sessions: last } = await sessions.list({ limit: pageSize, status: [...status] });
    // A subagent's session changes together with its parent, so the parent is preferred.
    const found = last.find(({ calledBy }) => calledBy === undefined) ?? last[0];
    if (found) return found.id;
  }
  throw new PerdureError('SESSION_NOT_FOUND', 'there is no session yet, so - names none: `perdure open` makes one');
};

export const mayNameSession = (named: string): boolean => named === mostRecent || isIdPart(kind, named);

/** Rejects a text that cannot name a session, before anything is opened. */
export const checkSessionName = (named: string): void => {
  if (named !== mostRecent) checkIdPart(kind, named);
};

/**
 * Finds a session by its id or by a prefix or suffix of its id. `-` means the session with one of the given statuses
 * that changed last.
 */
export const findSession = async (
  open: () => Promise<Sessions>,
  named: string,
  lastOf: readonly Status[] = inUse,
): Promise<SessionId> => {
  checkSessionName(named);
  if (named === mostRecent) return newestOf(await open(), lastOf);
  if (kind.isWhole(named)) return named as SessionId;
  const sessions = await open();
  return findId<SessionId>({ ...kind, notFound: 'SESSION_NOT_FOUND', among: () => fitting(sessions, named) }, named);
};
