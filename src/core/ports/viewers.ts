import type { EventType } from '../../schema/event.ts';
import type { MemberId, SessionId } from '../../schema/ids.ts';
import type { Reach } from '../../schema/reaches.ts';
import type { SessionSummary } from '../../schema/summary.ts';

/** Stands for all members with the reach `workspace`. No member can have this id. */
export const everyone = '*';

/** A caller as stores see it, when they leave out what the caller may not see. */
export interface Viewer {
  readonly member: MemberId;
  readonly reach: Reach;
  /** The only sessions that the caller's token names. Absent means no such limit. */
  readonly sessions?: readonly SessionId[] | undefined;
}

/** The facts of a summary that decide who sees a session. */
export type Seen = Pick<SessionSummary, 'id' | 'owner' | 'visibility' | 'sharedWith' | 'handoff'>;

/** The members that see a session: its owner, those it is shared with, the member that holds it, and `everyone`. */
export const viewersOf = ({ owner, visibility = 'workspace', sharedWith = [], handoff }: Seen): readonly string[] =>
  [
    ...new Set([
      ...(owner ? [owner] : []),
      ...sharedWith,
      ...(handoff?.member ? [handoff.member] : []),
      ...(visibility === 'workspace' ? [everyone] : []),
    ]),
  ].sort();

/** The names among the viewers of a session that let the caller see it. */
export const namesOf = ({ member, reach }: Viewer): readonly string[] =>
  reach === 'own' ? [member] : [member, everyone];

export const isSeenBy = (summary: Seen, viewer: Viewer): boolean => {
  if (viewer.sessions && !viewer.sessions.includes(summary.id)) return false;
  const viewers = viewersOf(summary);
  return namesOf(viewer).some((name) => viewers.includes(name));
};

const hidingTypes: ReadonlySet<string> = new Set<EventType>([
  'session.shared',
  'session.handed',
  'session.rewound',
  'session.quarantined',
  'approval.settled',
  'child.resumed',
  'run.started',
  'run.resumed',
  'run.waiting',
  'run.ended',
]);

/**
 * Whether a caller may no longer see the session after this event, because the event changes its viewers or voids the
 * approval that an approver sees it for. A reader must check again before it passes such an event on.
 */
export const mayHideSession = ({ type }: { readonly type: string }): boolean => hidingTypes.has(type);
