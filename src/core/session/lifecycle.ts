import { PerdureError } from '../../schema/error.ts';
import type { EventType } from '../../schema/event.ts';
import { awaited } from '../../schema/run.ts';
import { type Status, statuses } from '../../schema/statuses.ts';
import type { ActiveRun } from './runs/run-fold.ts';

/*
 *          append            requestPause         pause
 *   open ─────────▶ active ───────────▶ pausing ─────────▶ paused
 *                     ▲  ▲                 │ resume          │ resume
 *              reopen │  └─────────────────┴─────────────────┘
 *                   closed ◀── close ── open, active, paused
 *                     │ ▲
 *             archive ▼ │ unarchive
 *                   archived
 */
export const commands = [
  'append',
  'send',
  'update',
  'commit',
  'requestPause',
  'pause',
  'resume',
  'close',
  'reopen',
  'archive',
  'unarchive',
  'rewind',
  'fork',
] as const;
export type Command = (typeof commands)[number];

const no = undefined;

/** The status after each command, from each status. `no` means forbidden. */
export const lifecycle: Readonly<Record<Status, Readonly<Record<Command, Status | undefined>>>> = {
  open: {
    append: 'active',
    send: 'active',
    update: 'open',
    commit: 'open',
    requestPause: no,
    pause: 'paused',
    resume: no,
    close: 'closed',
    reopen: no,
    archive: no,
    unarchive: no,
    rewind: 'open',
    fork: 'open',
  },
  active: {
    append: 'active',
    send: 'active',
    update: 'active',
    commit: 'active',
    requestPause: 'pausing',
    pause: 'paused',
    resume: no,
    close: 'closed',
    reopen: no,
    archive: no,
    unarchive: no,
    rewind: 'active',
    fork: 'active',
  },
  pausing: {
    append: 'pausing',
    send: 'pausing',
    update: 'pausing',
    commit: 'pausing',
    requestPause: no,
    pause: 'paused',
    resume: 'active',
    close: no,
    reopen: no,
    archive: no,
    unarchive: no,
    rewind: no,
    fork: 'pausing',
  },
  paused: {
    append: no,
    send: 'paused',
    update: 'paused',
    commit: 'paused',
    requestPause: no,
    pause: no,
    resume: 'active',
    close: 'closed',
    reopen: no,
    archive: no,
    unarchive: no,
    rewind: 'paused',
    fork: 'paused',
  },
  closed: {
    append: no,
    send: no,
    update: 'closed',
    commit: no,
    requestPause: no,
    pause: no,
    resume: no,
    close: no,
    reopen: 'active',
    archive: 'archived',
    unarchive: no,
    rewind: no,
    fork: 'closed',
  },
  archived: {
    append: no,
    send: no,
    update: no,
    commit: no,
    requestPause: no,
    pause: no,
    resume: no,
    close: no,
    reopen: no,
    archive: no,
    unarchive: 'closed',
    rewind: no,
    fork: 'archived',
  },
};

export const allowedCommands = (status: Status): readonly Command[] =>
  commands.filter((command) => lifecycle[status][command] !== undefined);

export const statusesThatAllow = (command: Command): readonly Status[] =>
  statuses.filter((status) => lifecycle[status][command] !== undefined);

/** The command that leads out of a restrictive status. */
const wayOn: Partial<Readonly<Record<Status, Command>>> = {
  pausing: 'resume',
  paused: 'resume',
  closed: 'reopen',
  archived: 'unarchive',
};

/**
 * Returns the commands that must be executed first. Returns undefined if no command helps, or if they would only lead
 * back to the same status.
 */
const stepsBefore = (
  status: Status,
  command: Command,
  passed: readonly Status[] = [],
): readonly Command[] | undefined => {
  const [next, way] = [lifecycle[status][command], wayOn[status]];
  if (next) return passed.includes(next) ? undefined : [];
  const after = way && lifecycle[status][way];
  const more = after && stepsBefore(after, command, [...passed, status]);
  return more && [way!, ...more];
};

/**
 * Returns the command as an error message names it. The CLI has no command `update`, so the message describes it
 * instead.
 */
const inWords = (command: Command): string => (command === 'update' ? 'change its title or metadata' : command);

/** Commands that a quarantined session accepts. They neither add work nor build on the damaged events. */
export const allowedWhileDamaged: ReadonlySet<Command> = new Set([
  'update',
  'close',
  'archive',
  'unarchive',
  'rewind',
  'fork',
]);

/** Commands that an active run forbids, whatever the status allows. */
export const forbiddenByRun: ReadonlySet<Command> = new Set(['close', 'rewind']);

interface RefusedCommand {
  /** The caller's name for the command, if it differs, such as `retry` for `rewind`. */
  readonly asked?: string | undefined;
  /** The active run: begun and not ended. */
  readonly run?: Pick<ActiveRun, 'id' | 'waitingFor'> | undefined;
}

const whatRunDoes = (status: Status, { waitingFor }: Pick<ActiveRun, 'waitingFor'>): string => {
  if (status === 'paused') return 'is paused';
  return waitingFor ? `waits for ${awaited[waitingFor]}` : 'is at work';
};

export const illegalTransition = (
  status: Status,
  command: Command,
  { asked, run }: RefusedCommand = {},
): PerdureError => {
  const word = asked ?? (command === 'requestPause' ? 'pause' : command);
  const isFree = (each: Command) => each !== 'requestPause' && each !== word && !(run && forbiddenByRun.has(each));
  const allowed = allowedCommands(status).filter(isFree);
  const steps = stepsBefore(status, command);
  const advice = steps ? `: ${steps.join(' and ')} it first` : '';
  const isByRun = run && forbiddenByRun.has(command);
  const why = isByRun ? `a run ${whatRunDoes(status, run)}: cancel it first` : `the session is ${status}${advice}`;
  return new PerdureError(
    'ILLEGAL_TRANSITION',
    `cannot ${word} while ${why}; allowed now: ${allowed.map(inWords).join(', ')}`,
    { details: { status, command: asked ?? command, allowed, ...(isByRun && { run: run.id }) } },
  );
};

/** The status after each event. `same` means unchanged. A message or an input also makes an open session active. */
const statusAfterEvent: Readonly<Record<EventType, Status | 'same'>> = {
  'session.opened': 'open',
  'session.forked': 'same',
  'session.described': 'same',
  'session.shared': 'same',
  'session.pausing': 'pausing',
  'session.paused': 'paused',
  'session.resumed': 'active',
  'session.closed': 'closed',
  'session.reopened': 'active',
  'session.archived': 'archived',
  'session.restored': 'closed',
  'session.rewound': 'same',
  'session.quarantined': 'same',
  'message.appended': 'same',
  'agent.bound': 'same',
  'state.committed': 'same',
  'session.tracked': 'same',
  'tool.called': 'same',
  'call.reported': 'same',
  'tool.completed': 'same',
  'tool.failed': 'same',
  'calls.happened': 'same',
  'context.compacted': 'same',
  'tool.retried': 'same',
  'input.admitted': 'same',
  'run.started': 'same',
  'run.resumed': 'same',
  'run.waiting': 'same',
  'model.called': 'same',
  'model.completed': 'same',
  'model.failed': 'same',
  'message.progressed': 'same',
  'message.abandoned': 'same',
  'approval.requested': 'same',
  'approval.settled': 'same',
  'question.asked': 'same',
  'question.answered': 'same',
  'files.snapshotted': 'same',
  'files.conflicted': 'same',
  'files.bound': 'same',
  'files.prepared': 'same',
  'artifact.kept': 'same',
  'taint.inherited': 'same',
  'taint.cleared': 'same',
  'budget.set': 'same',
  'cancel.requested': 'same',
  'quota.changed': 'same',
  'child.opened': 'same',
  'child.waiting': 'same',
  'child.resumed': 'same',
  'child.ended': 'same',
  'session.handed': 'same',
  'run.ended': 'same',
};

export const statusAfter = (status: Status, type: EventType): Status => {
  if ((type === 'message.appended' || type === 'input.admitted') && status === 'open') return 'active';
  const next = statusAfterEvent[type];
  return next === 'same' ? status : next;
};

/**
 * Returns the first status of a fork. A fork in the middle of a turn is paused, because a person must decide how it
 * continues.
 */
export const statusOfFork = (fork: { midTurn: boolean; messages: number }): Status => {
  if (fork.midTurn) return 'paused';
  return fork.messages > 0 ? 'active' : 'open';
};

const commandOf: Partial<Readonly<Record<EventType, Command>>> = {
  'session.described': 'update',
  'session.pausing': 'requestPause',
  'session.paused': 'pause',
  'session.resumed': 'resume',
  'session.closed': 'close',
  'session.reopened': 'reopen',
  'session.archived': 'archive',
  'session.restored': 'unarchive',
  'session.rewound': 'rewind',
  'input.admitted': 'send',
  'run.started': 'send',
  'model.called': 'send',
  'session.tracked': 'append',
  'tool.called': 'send',
  'call.reported': 'append',
  // Not `append`, because open calls get their results and steps finish in a paused session too.
  'message.appended': 'send',
  'state.committed': 'commit',
  'agent.bound': 'commit',
  'context.compacted': 'commit',
  'files.snapshotted': 'commit',
  'files.bound': 'commit',
  'artifact.kept': 'commit',
  'taint.cleared': 'commit',
  'budget.set': 'commit',
};

/** Whether the lifecycle allows an event of this type in this status. True for types that it does not restrict. */
export const mayFollow = (status: Status, type: EventType): boolean => {
  const command = commandOf[type];
  return command === undefined || lifecycle[status][command] !== undefined;
};
