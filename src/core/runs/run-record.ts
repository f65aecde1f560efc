import type { EventType, PayloadOf, SessionEvent } from '../../schema/event.ts';
import { holderName, type ShownHandoff } from '../../schema/handoff.ts';
import type { RunRecord } from '../../schema/run-record.ts';
import { shorten } from '../session/context/clip.ts';
import { firstWordsOf } from '../session/first-words.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive } from '../session/live-lineage.ts';
import { addUsage, noUsage, usageTold } from '../session/runs/run-fold.ts';

const maxTools = 200;
const maxChars = 2000;

/** The part of a session's fold that its runs are read with. */
export type RunsHead = Pick<SessionFold, 'seq' | 'parent' | 'live' | 'queue' | 'run' | 'status' | 'holder'> & {
  readonly handoff?: Pick<ShownHandoff, 'member' | 'role' | 'reason'> | undefined;
};

/** The events that say something about a run. All of them carry its id. */
export const runEventTypes: ReadonlySet<string> = new Set<EventType>([
  'run.started',
  'run.resumed',
  'run.waiting',
  'run.ended',
  'child.waiting',
  'child.resumed',
  'child.ended',
  'session.paused',
  'approval.settled',
  'question.answered',
  'model.called',
  'model.completed',
  'model.failed',
]);

interface Wait extends Pick<RunRecord, 'waitingFor' | 'reason' | 'until' | 'waitsIn'> {
  /** Whether the run itself waits, not only its subagent. */
  readonly isOwn: boolean;
}

/** A run while its events are folded. */
interface Progress {
  readonly record: RunRecord;
  readonly wait?: Wait | undefined;
  /** When the run last started or resumed. Absent while no worker works on it. */
  readonly activeSince?: number | undefined;
}

const stop = ({ record, wait, activeSince }: Progress, at: number): Progress => ({
  record: { ...record, activeMs: record.activeMs + (activeSince === undefined ? 0 : Math.max(0, at - activeSince)) },
  wait,
});

const change = (before: Progress, about: Partial<RunRecord>): Progress => ({
  ...before,
  record: { ...before.record, ...about },
});

const workedBy = ({ worker, machine, agent }: PayloadOf<'run.resumed'>): Partial<RunRecord> => ({
  ...(worker !== undefined && { worker }),
  ...(machine !== undefined && { machine }),
  ...(agent && { agent }),
});

const works = (before: Progress, at: number, about: Partial<RunRecord>): Progress => {
  const { record } = change(stop(before, at), about);
  return { record: { ...record, startedAt: record.startedAt ?? at }, activeSince: at };
};

const called = ({ model, tools }: PayloadOf<'model.called'>): Partial<RunRecord> => ({
  model,
  tools: tools.slice(0, maxTools),
  ...(tools.length > maxTools && { toolsLeftOut: tools.length - maxTools }),
});

const ended = (before: Progress, { at, payload }: SessionEvent<'run.ended'>): Progress => {
  const { record } = stop(before, at);
  const { startedAt } = record;
  const error = payload.status === 'failed' && {
    error: { code: payload.error.code, message: shorten(payload.error.message, maxChars) },
  };
  const durationMs = startedAt !== undefined && { durationMs: Math.max(0, at - startedAt) };
  return { record: { ...record, status: payload.status, endedAt: at, ...durationMs, ...error } };
};

const waits = (before: Progress, event: SessionEvent<'run.waiting' | 'child.waiting'>): Progress => {
  const { for: waitingFor, reason, session: waitsIn } = event.payload;
  const until = event.type === 'run.waiting' ? event.payload.until : undefined;
  return {
    ...stop(before, event.at),
    wait: { waitingFor, reason, until, waitsIn, isOwn: event.type === 'run.waiting' },
  };
};

const fold = (before: Progress, event: SessionEvent): Progress => {
  switch (event.type) {
    case 'run.started': {
      const { attempt, ...by } = event.payload;
      return works(before, event.at, { turn: event.turn, attempts: attempt, ...workedBy(by) });
    }
    case 'run.resumed':
      return works(before, event.at, workedBy(event.payload));
    case 'run.waiting':
    case 'child.waiting':
      return waits(before, event);
    case 'child.resumed':
      return before.wait?.isOwn ? before : { ...works(before, event.at, {}), wait: undefined };
    case 'session.paused':
      return stop(before, event.at);
    case 'approval.settled':
    case 'question.answered':
      return { ...before, wait: undefined };
    case 'model.called':
      return change(before, { ...called(event.payload), modelCalls: before.record.modelCalls + 1 });
    case 'model.completed':
    case 'model.failed':
    case 'child.ended': {
      const counted = change(before, { usage: addUsage(before.record.usage, usageTold(event)) });
      return event.type === 'child.ended' && !before.wait?.isOwn ? { ...counted, wait: undefined } : counted;
    }
    case 'run.ended':
      return ended(before, event);
    default:
      return before;
  }
};

/** The member or role that holds the session, if it is limited to one, and why it was handed over. */
const heldBy = ({ handoff = {} }: RunsHead): Partial<RunRecord> => {
  const { member, role, reason } = handoff;
  const parts = [member !== undefined || role !== undefined ? holderName({ member, role }) : '', reason ?? ''];
  const text = parts.filter((part) => part !== '').join(': ');
  return text === '' ? {} : { reason: shorten(text, maxChars) };
};

/** The status of a run that has not ended, given the session's head. */
const standing = ({ record, wait }: Progress, head: RunsHead): Partial<RunRecord> => {
  const { status, holder, run } = head;
  if (status === 'paused') return { status };
  if (holder === 'human') return { status: 'waiting', waitingFor: 'human', ...heldBy(head) };
  const isOver = wait?.isOwn && run?.id === record.run && run.waitingFor === undefined;
  if (!wait || isOver) return { status: record.startedAt === undefined ? 'queued' : 'running' };
  const { isOwn: _, reason, ...about } = wait;
  const known = Object.entries(about).filter(([, value]) => value !== undefined);
  return { status: 'waiting', ...Object.fromEntries(known), ...(reason && { reason: shorten(reason, maxChars) }) };
};

/**
 * Returns the record of a run from the event that admitted it and its own events, in order. Returns undefined if the
 * input joined another run, because it then has no run of its own.
 */
export const runRecord = (
  admitted: SessionEvent<'input.admitted'>,
  events: readonly SessionEvent[],
  head: RunsHead,
): RunRecord | undefined => {
  const { run, message } = admitted.payload;
  if (events.length === 0 && !head.queue.some((each) => each.run === run)) return undefined;
  const input = firstWordsOf(message);
  const begun = events.find(({ type }) => type === 'run.started') ?? admitted;
  const first: RunRecord = {
    run,
    session: admitted.session,
    seq: admitted.seq,
    status: 'queued',
    by: admitted.actor,
    ...(input !== undefined && { input }),
    attempts: 0,
    admittedAt: admitted.at,
    activeMs: 0,
    modelCalls: 0,
    usage: noUsage,
    ...(!isLive(head.live, begun.seq) && { rewound: true }),
  };
  const last = events.reduce(fold, { record: first });
  return last.record.endedAt === undefined ? { ...last.record, ...standing(last, head) } : last.record;
};
