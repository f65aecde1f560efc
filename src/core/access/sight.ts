import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { PerdureError } from '../../schema/error.ts';
import type { MemberId, SessionId } from '../../schema/ids.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { Folds } from '../engine/folds.ts';
import type { Caller, SightAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import { type Head, type SessionKey, type Store, sessionKeyName } from '../ports/store.ts';
import { isSeenBy, mayHideSession, type Viewer } from '../ports/viewers.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import type { Audited } from './guard.ts';

/** The owners of sessions. An owner never changes, so that an owner's own calls need no look at the store. */
export type Owners = BoundedMap<string, MemberId>;

const maxOwners = 10_000;
export const newOwners = (): Owners => new BoundedMap(maxOwners);

export interface SightOptions {
  readonly store: Store;
  readonly folds: Folds;
  readonly caller: Caller;
  readonly owners: Owners;
  readonly audited: Audited;
}

/** The store and the folds as one caller sees them. */
export interface Sight extends SightAccess {
  readonly store: Store;
  readonly folds: Folds;
}

export const viewerOf = ({ member, reach, sessions }: Caller): Viewer => ({ member, reach, sessions });

/** The audit log names a caller that sees a private session by its role once for each session and scope. */
const maxReported = 10_000;
export const seenByRole = 'session.seePrivate';

const waitsForPeople: ReadonlySet<SessionSummary['waiting']> = new Set(['approval', 'question', 'human']);

const noNewSessions = (): PerdureError =>
  new PerdureError(
    'FORBIDDEN',
    'this token is limited to the sessions that it names, so it cannot open or fork any: use a token without `sessions`',
  );

/**
 * Checks every way from the id of a session to its content, so that a verb without a check of its own fails closed. A
 * session that the caller may not see behaves exactly like one that does not exist.
 */
export const sightOf = ({ store, folds, caller, owners, audited }: SightOptions): Sight => {
  const viewer = viewerOf(caller);
  const isNamed = (session: SessionId): boolean => viewer.sessions?.includes(session) ?? true;
  const reported = new BoundedMap<SessionId, Promise<void>>(maxReported);
  const report = (session: SessionId): Promise<void> => {
    const known = reported.get(session) ?? audited(seenByRole, session, async () => {});
    reported.set(session, known);
    known.catch(() => reported.delete(session));
    return known;
  };
  const hasOpenApproval = async (key: SessionKey, { waiting }: SessionSummary): Promise<boolean> =>
    waitsForPeople.has(waiting) && Object.values((await folds.outline(key)).approvals).some(({ settled }) => !settled);
  const seesByRole = async (key: SessionKey, summary: SessionSummary): Promise<boolean> => {
    if (viewer.reach === 'own' || !isNamed(key.session)) return false;
    if (isAtLeast(caller.role, 'admin')) return true;
    return isAtLeast(caller.role, 'approver') && (await hasOpenApproval(key, summary));
  };
  const readHead = async (key: SessionKey): Promise<Head | undefined> => {
    try {
      return await store.head(key);
    } catch (error) {
      // An unreadable summary no longer says who sees the session.
      if (isSessionDamage(error) && !(await seesByRole(key, {} as SessionSummary))) return undefined;
      throw error;
    }
  };
  const headSeen = async (key: SessionKey): Promise<Head | undefined> => {
    const head = await readHead(key);
    if (!head) return undefined;
    const { owner } = head.summary;
    if (owner) owners.set(sessionKeyName(key), owner);
    if (isSeenBy(head.summary, viewer)) return head;
    if (!(await seesByRole(key, head.summary))) return undefined;
    await report(key.session);
    return head;
  };
  const isOwn = (key: SessionKey): boolean => owners.get(sessionKeyName(key)) === caller.member && isNamed(key.session);
  const sees = async (key: SessionKey): Promise<boolean> => isOwn(key) || (await headSeen(key)) !== undefined;
  const mustSee = async (key: SessionKey): Promise<void> => {
    if (!(await sees(key))) throw sessionNotFound(key);
  };
  /** Reads something of one session. */
  const seen =
    <Args extends readonly [SessionKey, ...unknown[]], Result>(read: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await mustSee(args[0]);
      return read(...args);
    };
  /** Narrows a query of the workspace to what the caller sees; a query of one session to nothing if it is hidden. */
  const narrowed = async <Query extends { readonly viewer?: Viewer | undefined }, Result>(
    query: Query & {
      readonly within?: { readonly session: SessionId } | undefined;
      readonly session?: SessionId | undefined;
    },
    key: Pick<SessionKey, 'workspace'>,
    ask: (query: Query) => Promise<Result>,
  ): Promise<Result> => {
    const session = query.within?.session ?? query.session;
    if (query.within) await mustSee({ ...key, session: query.within.session });
    const isSeen = session !== undefined && (await sees({ ...key, session }));
    return ask(isSeen ? query : { ...query, viewer });
  };
  const mayListAll = viewer.reach === 'workspace' && !viewer.sessions;
  const countsAll = mayListAll && isAtLeast(caller.role, 'admin');
  return {
    seesByReach: async (key) => {
      if (isOwn(key)) return true;
      const head = await readHead(key);
      return head !== undefined && isSeenBy(head.summary, viewer);
    },
    listByRole: (workspace, query) =>
      store.list(workspace, mayListAll && isAtLeast(caller.role, 'approver') ? query : { ...query, viewer }),
    whole: { store, folds },
    store: {
      append: async (request) => {
        if (!request.creates) return (await sees(request)) ? store.append(request) : { outcome: 'missing' };
        if (viewer.sessions) throw noNewSessions();
        const outcome = await store.append(request);
        const owner = outcome.outcome === 'appended' ? outcome.head.summary.owner : undefined;
        if (owner) owners.set(sessionKeyName(request), owner);
        return outcome;
      },
      head: headSeen,
      list: (workspace, query) => store.list(workspace, { ...query, viewer }),
      values: seen((key) => store.values(key)),
      read: seen(async (key, range) => {
        const page = await store.read(key, range);
        // The session may have been hidden between the check and the read.
        if (page.some(mayHideSession)) await mustSee(key);
        return page;
      }),
      turnStarts: seen((key, range) => store.turnStarts(key, range)),
      family: async (key) => {
        if (!(await sees(key))) return [];
        const family = await store.family(key);
        const shown = new Set(
          family
            .filter(({ session, summary }) => session === key.session || isSeenBy(summary, viewer))
            .map(({ session }) => session),
        );
        const hidden = new Set(family.map(({ session }) => session).filter((session) => !shown.has(session)));
        return family
          .filter(({ session }) => shown.has(session))
          .map((member) =>
            member.parent && hidden.has(member.parent.session) ? { ...member, parent: undefined } : member,
          );
      },
      putSnapshot: seen((key, snapshot) => store.putSnapshot(key, snapshot)),
      snapshot: seen((key, at) => store.snapshot(key, at)),
      keys: seen((key, only) => store.keys(key, only)),
      importCopies: (workspace, copies, owner) => store.importCopies(workspace, copies, owner),
      findCommits: (workspace, query) => narrowed(query, { workspace }, (asked) => store.findCommits(workspace, asked)),
      findCalls: (workspace, query) => narrowed(query, { workspace }, (asked) => store.findCalls(workspace, asked)),
      sumCharges: (workspace, query) =>
        countsAll
          ? store.sumCharges(workspace, query)
          : narrowed(query, { workspace }, (asked) => store.sumCharges(workspace, asked)),
      groupCharges: (workspace, query) =>
        countsAll
          ? store.groupCharges(workspace, query)
          : narrowed(query, { workspace }, (asked) => store.groupCharges(workspace, asked)),
      findRepeated: seen((key, query) => store.findRepeated(key, query)),
      findBlobEvents: async (workspace, query) => {
        const { session } = query;
        return session && (await sees({ workspace, session })) ? store.findBlobEvents(workspace, query) : [];
      },
      rebuildProjections: (workspace) => store.rebuildProjections(workspace),
      ledger: (...asked) => store.ledger(...asked),
      watch: (key, wake) => store.watch(key, wake),
      watchWorkspace: (workspace, wake) => store.watchWorkspace(workspace, wake),
      close: () => store.close(),
    },
    folds: {
      recent: seen((key) => folds.recent(key)),
      head: seen((key) => folds.head(key)),
      recentOutline: seen((key) => folds.recentOutline(key)),
      outline: seen((key) => folds.outline(key)),
      at: seen((key, seq) => folds.at(key, seq)),
      lastReadable: seen((key) => folds.lastReadable(key)),
      countedAt: seen((key, seq) => folds.countedAt(key, seq)),
      // These take a fold or a head that the caller was allowed to read.
      atHead: (head, newest) => folds.atHead(head, newest),
      beforeTurn: (key, given) => folds.beforeTurn(key, given),
      advance: (...given) => folds.advance(...given),
      seed: (...given) => folds.seed(...given),
      inTurn: (key, work) => folds.inTurn(key, work),
      forget: (key) => folds.forget(key),
      forgetAll: () => folds.forgetAll(),
      suspect: (...given) => folds.suspect(...given),
      isLost: (...given) => folds.isLost(...given),
      settle: () => folds.settle(),
    },
  };
};
