import type { Description } from '../../schema/description.ts';
import { isPerdureError } from '../../schema/error.ts';
import { type EventType, isEventType, type PayloadOf } from '../../schema/event.ts';
import { shownReasonChars } from '../../schema/handoff.ts';
import type { MemberId } from '../../schema/ids.ts';
import type { Ownership, Sharing } from '../../schema/sharing.ts';
import { runEnds } from '../../schema/statuses.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { importSource } from '../../schema/taint.ts';
import type { StoredEvent } from '../ports/store.ts';
import { shorten } from './context/clip.ts';
import { decodePayload } from './events/event-codec.ts';
import { firstWordsOf, wantsFirstWords } from './first-words.ts';
import { statusAfter, statusOfFork } from './lifecycle.ts';
import { isImportedContent, maxSummaryNames, outsideIn } from './taint-fold.ts';

const maxChars = 200;

const described = (summary: SessionSummary, { title, metadata, priority }: Description): SessionSummary => {
  const { firstWords, ...rest } = summary;
  return {
    ...rest,
    ...(title === undefined && firstWords !== undefined && { firstWords }),
    ...(title !== undefined && { title }),
    ...(metadata !== undefined && { metadata }),
    ...(priority !== undefined && { priority }),
  };
};

const memberMark = 'member:';

/** A session belongs to the member that opened it, unless its first event names another owner. */
const owned = ({ actor }: StoredEvent, { owner, visibility = 'workspace', sharedWith = [] }: Ownership): Ownership => {
  const opener = actor.startsWith(memberMark) ? (actor.slice(memberMark.length) as MemberId) : undefined;
  const belongsTo = owner ?? opener;
  return { ...(belongsTo && { owner: belongsTo }), ...sharing({ visibility, sharedWith }) };
};

const sharing = ({ visibility, sharedWith }: Sharing): Sharing => ({
  ...(visibility && { visibility }),
  ...(sharedWith?.length && { sharedWith }),
});

const shared = (
  { sharedWith: before, ...summary }: SessionSummary,
  { visibility, sharedWith = before }: Sharing,
): SessionSummary => ({ ...summary, ...sharing({ visibility, sharedWith }) });

const notWaiting = ({ waiting: _, waitingOn: __, waitsUntil: ___, ...summary }: SessionSummary): SessionSummary =>
  summary;
const notFailed = ({ failure: _, ...summary }: SessionSummary): SessionSummary => summary;

const isRunOver = ({ run }: SessionSummary): boolean => run === undefined || runEnds.some((end) => end === run);

/** The summary after an input. An input that arrives during a run leaves the status of that run as it is. */
const admitted = (summary: SessionSummary): SessionSummary =>
  isRunOver(summary) ? { ...summary, run: 'queued' } : summary;

/** The beginning of the session and its plan, as the first event of a fork and a rewind repeat them. */
const repeated = (
  summary: SessionSummary,
  { firstWords, plan, tainted }: Pick<PayloadOf<'session.rewound'>, 'firstWords' | 'plan' | 'tainted'>,
): SessionSummary => ({
  ...summary,
  ...(tainted?.length && { tainted }),
  ...(summary.title === undefined && firstWords !== undefined && { firstWords }),
  ...(plan && { plan }),
});

const handed = (
  { handoff: _, ...summary }: SessionSummary,
  { actor: by, at }: StoredEvent,
  { to, member, role, reason, replay }: PayloadOf<'session.handed'>,
): SessionSummary => ({
  ...summary,
  holder: to,
  ...(to === 'human' &&
    !replay && {
      handoff: {
        by,
        at,
        ...(member !== undefined && { member }),
        ...(role !== undefined && { role }),
        ...(reason !== undefined && { reason: shorten(reason, shownReasonChars) }),
      },
    }),
});

const rewound = (
  { agent: current, firstWords: _, plan: __, run: ___, tainted: ____, ...summary }: SessionSummary,
  payload: PayloadOf<'session.rewound'>,
): SessionSummary => {
  const { messages, agent = current ?? null } = payload;
  const after = { ...notFailed(notWaiting(summary)), messages, rewound: true as const, ...(agent && { agent }) };
  return repeated(after, payload);
};

/**
 * The payload of an event that only adds detail to a summary. Undefined if it cannot be read, because a summary must
 * not become unreadable for a detail.
 */
const detail = <T extends EventType>(event: StoredEvent, type: T): PayloadOf<T> | undefined => {
  try {
    return decodePayload(event, type);
  } catch (error) {
    if (isPerdureError(error)) return undefined;
    throw error;
  }
};

const withFirstWords = (
  summary: SessionSummary,
  event: StoredEvent,
  type: 'message.appended' | 'input.admitted',
): SessionSummary => {
  if (summary.title !== undefined || !wantsFirstWords(summary)) return summary;
  const message = detail(event, type)?.message;
  const firstWords = message && firstWordsOf(message);
  return firstWords === undefined ? summary : { ...summary, firstWords };
};

const failed = (summary: SessionSummary, event: StoredEvent): SessionSummary => {
  const end = detail(event, 'run.ended');
  const ended = end ? { ...summary, run: end.status } : summary;
  if (end?.status !== 'failed' || !event.run) return notFailed(ended);
  const { code, message } = end.error;
  return { ...ended, failure: { run: event.run, code, message: shorten(message, maxChars) } };
};

const untrustedMark = '"untrusted":true';

/** The summary after an event that can have tainted the session. Only an event with a mark of it is decoded. */
const tainted = (
  summary: SessionSummary,
  event: StoredEvent,
  type: 'tool.completed' | 'tool.failed' | 'message.appended' | 'taint.inherited',
): SessionSummary => {
  if (type !== 'taint.inherited' && !hasMark(event, untrustedMark)) return summary;
  const payload = detail(event, type);
  const found = payload ? outsideIn({ type, payload, run: event.run } as Parameters<typeof outsideIn>[0]) : [];
  return withNames(
    summary,
    found.map(({ tool }) => tool),
  );
};

const withNames = (summary: SessionSummary, names: readonly string[]): SessionSummary => {
  const all = [...new Set([...(summary.tainted ?? []), ...names])].slice(0, maxSummaryNames);
  return all.length === (summary.tainted?.length ?? 0) ? summary : { ...summary, tainted: all };
};

const untainted = ({ tainted: _, ...summary }: SessionSummary): SessionSummary => summary;

const planMark = '"plan":{"done":';

const hasMark = ({ body }: StoredEvent, mark: string): boolean => {
  if (body.kind !== 'bytes') return false;
  const { buffer, byteOffset, length } = body.bytes;
  return Buffer.from(buffer, byteOffset, length).includes(mark);
};

/**
 * The summary after a commit. Every commit passes here, so only one that can have changed the plan is decoded.
 */
const committed = (summary: SessionSummary, event: StoredEvent): SessionSummary => {
  if (!hasMark(event, planMark)) return summary;
  const plan = detail(event, 'state.committed')?.plan;
  return plan ? { ...summary, plan } : summary;
};

const waits = (
  summary: SessionSummary,
  { for: waiting, reason, until }: Omit<PayloadOf<'run.waiting'>, 'session'>,
): SessionSummary => ({
  ...notWaiting(summary),
  waiting,
  ...(until !== undefined && { waitsUntil: until }),
  ...(reason && { waitingOn: shorten(reason, maxChars) }),
});

const quarantined = (
  { agent: _, ...summary }: SessionSummary,
  { seq, status, lastTurn, messages, agent }: PayloadOf<'session.quarantined'>,
): SessionSummary => ({
  ...notWaiting(summary),
  status,
  lastTurn,
  messages,
  ...(agent && { agent }),
  damaged: { seq, at: summary.seq },
});

const lostBy = ({ lost }: PayloadOf<'session.forked'>): Pick<SessionSummary, 'lost'> =>
  lost ? { lost: { session: lost.session, from: lost.seq, to: lost.to } } : {};

/** Whether the event is the first of its turn, given the summary before it. A fork continues the turn of its parent. */
export const opensTurn = (
  before: SessionSummary | undefined,
  { type, turn }: { readonly type: string; readonly turn: number },
): boolean => (before ? turn > before.lastTurn : type !== 'session.forked' && turn > 0);

const first = (event: StoredEvent, moved: Pick<SessionSummary, 'seq' | 'turn' | 'lastTurn' | 'updatedAt'>) => {
  const made = { holder: 'agent' as const, createdAt: event.at, messages: 0 };
  const blank = { id: event.session, ...made, ...moved };
  if (event.type === 'session.forked') {
    const fork = decodePayload(event, 'session.forked');
    const { parent, at: forkedAt, messages, agent } = fork;
    const lastTurn = Math.max(fork.lastTurn, event.turn);
    const status = statusOfFork(fork);
    const summary = {
      ...blank,
      ...owned(event, fork),
      parent,
      forkedAt,
      lastTurn,
      messages,
      status,
      ...(agent && { agent }),
    };
    const forked = repeated(described({ ...summary, ...lostBy(fork) }, fork), fork);
    // The events that an imported fork inherits were imported with it.
    return event.imported && messages > 0 ? withNames(forked, [importSource]) : forked;
  }
  const { agent, calledBy, ...about } = decodePayload(event, 'session.opened');
  const ownership = owned(event, about);
  return described(
    { ...blank, ...ownership, status: 'open', ...(agent && { agent }), ...(calledBy && { calledBy }) },
    about,
  );
};

/**
 * Folds the summary. The store runs this with every append, so that listings and status checks need not read the log.
 */
export const summarize = (before: SessionSummary | undefined, event: StoredEvent): SessionSummary => {
  const lastTurn = Math.max(before?.lastTurn ?? 0, event.turn);
  const moved = { seq: event.seq, turn: event.turn, lastTurn, updatedAt: event.at };
  if (!before) return first(event, moved);
  const type: EventType | undefined = isEventType(event.type) ? event.type : undefined;
  const status = type ? statusAfter(before.status, type) : before.status;
  const after =
    event.imported && type && isImportedContent(type)
      ? withNames({ ...before, ...moved, status }, [importSource])
      : { ...before, ...moved, status };
  switch (type) {
    case 'tool.completed':
    case 'tool.failed':
    case 'taint.inherited':
      return tainted(after, event, type);
    case 'taint.cleared':
      return event.imported ? after : untainted(after);
    case 'message.appended':
      return { ...tainted(withFirstWords(after, event, type), event, type), messages: before.messages + 1 };
    case 'input.admitted':
      return notFailed(admitted(withFirstWords(after, event, type)));
    case 'state.committed':
      return committed(after, event);
    case 'run.waiting':
    case 'child.waiting':
      return waits(after, decodePayload(event, type));
    case 'run.resumed':
    case 'child.resumed':
      return notWaiting(after);
    case 'run.started':
      return { ...notFailed(notWaiting(after)), run: 'running' };
    case 'run.ended':
      return failed(notWaiting(after), event);
    case 'session.handed':
      return handed(after, event, decodePayload(event, type));
    case 'session.rewound':
      return rewound(after, decodePayload(event, type));
    case 'session.quarantined':
      return quarantined(after, decodePayload(event, type));
    case 'agent.bound':
      return { ...after, agent: decodePayload(event, type).agent };
    case 'session.described':
      return described(after, decodePayload(event, type));
    case 'session.shared':
      return shared(after, decodePayload(event, type));
    default:
      return after;
  }
};
