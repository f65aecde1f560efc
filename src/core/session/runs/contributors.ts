import type { EventType, SessionEvent } from '../../../schema/event.ts';
import type { Actor } from '../../../schema/ids.ts';

/*
 * member acts ──▶ unheard ──model.called──▶ heard ──run.ended──▶ past
 */

/** Whether a model request has included what the member contributed: not yet, in the current run, or in an earlier run. */
type Hearing = 'unheard' | 'heard' | 'past';

/** The members whose words, files or edits are in the session. */
export type Contributors = Readonly<Record<Actor, Hearing>>;

type Contributes = boolean | 'with a reason';

/** Whether an event brings words, files or edits of its actor into the session. */
const contributes: Readonly<Record<EventType, Contributes>> = {
  'session.opened': true,
  'session.forked': false,
  'session.described': false,
  'session.shared': false,
  'session.pausing': 'with a reason',
  'session.paused': 'with a reason',
  'session.resumed': false,
  'session.closed': 'with a reason',
  'session.reopened': false,
  'session.archived': false,
  'session.restored': false,
  'session.rewound': 'with a reason',
  'session.quarantined': false,
  'message.appended': true,
  'agent.bound': true,
  'state.committed': true,
  'session.tracked': false,
  'tool.called': true,
  'call.reported': true,
  'tool.completed': true,
  'tool.failed': true,
  'calls.happened': false,
  'context.compacted': true,
  'tool.retried': false,
  // An input contributes when it joins the transcript.
  'input.admitted': false,
  'run.started': false,
  'run.resumed': false,
  'run.waiting': false,
  'model.called': false,
  'model.completed': false,
  'model.failed': false,
  'message.progressed': false,
  'message.abandoned': false,
  'approval.requested': false,
  'approval.settled': 'with a reason',
  'question.asked': false,
  'question.answered': true,
  'files.snapshotted': true,
  'files.conflicted': true,
  'files.bound': true,
  'files.prepared': false,
  'artifact.kept': true,
  'taint.inherited': false,
  // The reason is for the log, and no model reads it.
  'taint.cleared': false,
  'budget.set': 'with a reason',
  'cancel.requested': false,
  'quota.changed': false,
  'child.opened': false,
  'child.waiting': false,
  'child.resumed': false,
  'child.ended': false,
  'session.handed': 'with a reason',
  'run.ended': false,
};

const hasReason = (payload: object): boolean =>
  ('reason' in payload && Boolean(payload.reason)) || ('comment' in payload && Boolean(payload.comment));

const isByMember = (actor: Actor): boolean => actor.startsWith('member:') || isForeign(actor);

const isForeign = (actor: Actor): boolean => actor.startsWith('foreign:');

/** Whether a bundle brought words, files or edits since the previous run ended. */
export const hasRecentImport = (contributors: Contributors): boolean =>
  recentContributors(contributors).some(isForeign);

/** The members that an event names because it brings what they contributed elsewhere: in a child, a branch or a turn. */
const named = (event: SessionEvent): readonly Actor[] => {
  switch (event.type) {
    case 'message.appended':
    case 'state.committed':
    case 'files.snapshotted':
    case 'artifact.kept':
    case 'child.ended':
      return event.payload.contributors ?? [];
    default:
      return [];
  }
};

const contributorsOf = (event: SessionEvent): readonly Actor[] => {
  const what = contributes[event.type];
  const isOwn = isByMember(event.actor) && (what === 'with a reason' ? hasReason(event.payload) : what);
  return isOwn ? [event.actor, ...named(event)] : named(event);
};

const withUnheard = (before: Contributors, members: readonly Actor[]): Contributors =>
  members.every((member) => before[member] === 'unheard')
    ? before
    : { ...before, ...Object.fromEntries(members.map((member) => [member, 'unheard' as const])) };

const moved = (before: Contributors, from: Hearing, to: Hearing): Contributors =>
  Object.values(before).includes(from)
    ? Object.fromEntries(Object.entries(before).map(([member, is]) => [member, is === from ? to : is]))
    : before;

const recent = (before: Contributors): Contributors =>
  Object.values(before).includes('past')
    ? Object.fromEntries(Object.entries(before).filter(([, is]) => is !== 'past'))
    : before;

/** Applies one event. `endsRun` says that it ends the run in progress; `target` are those at the point of a rewind. */
export const foldContributors = (
  before: Contributors,
  event: SessionEvent,
  { endsRun, target }: { readonly endsRun: boolean; readonly target?: Contributors | undefined },
): Contributors => {
  const after = withUnheard(before, contributorsOf(event));
  switch (event.type) {
    case 'model.called':
      return moved(after, 'unheard', 'heard');
    case 'run.ended':
      return endsRun ? moved(after, 'heard', 'past') : after;
    case 'session.rewound':
      return { ...after, ...recent(target ?? {}), ...recent(after) };
    default:
      return after;
  }
};

/** Everybody who contributed, in earlier runs too. */
export const allContributors = (contributors: Contributors): readonly Actor[] => Object.keys(contributors) as Actor[];

/** The members who contributed since the previous run ended. */
export const recentContributors = (contributors: Contributors): readonly Actor[] =>
  allContributors(recent(contributors));
