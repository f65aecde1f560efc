import type { Description } from '../../schema/description.ts';
import { type EventType, isEventType, type PayloadOf } from '../../schema/event.ts';
import { shownReasonChars } from '../../schema/handoff.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { StoredEvent } from '../ports/store.ts';
import { shorten } from './context/clip.ts';
import { decodePayload } from './events/event-codec.ts';
import { statusAfter, statusOfFork } from './lifecycle.ts';

const described = (summary: SessionSummary, { title, metadata, priority }: Description): SessionSummary => ({
  ...summary,
  ...(title !== undefined && { title }),
  ...(metadata !== undefined && { metadata }),
  ...(priority !== undefined && { priority }),
});

const notWaiting = ({ waiting: _, ...summary }: SessionSummary): SessionSummary => summary;

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
  { agent: current, ...summary }: SessionSummary,
  { messages, agent = current ?? null }: PayloadOf<'session.rewound'>,
): SessionSummary => ({ ...notWaiting(summary), messages, rewound: true, ...(agent && { agent }) });

const endsWait: ReadonlySet<EventType> = new Set(['run.started', 'run.resumed', 'run.ended', 'child.resumed']);

/** Whether the event is the first of its turn, given the summary before it. A fork continues the turn of its parent. */
export const opensTurn = (
  before: SessionSummary | undefined,
  { type, turn }: { readonly type: string; readonly turn: number },
): boolean => (before ? turn > before.lastTurn : type !== 'session.forked' && turn > 0);

/**
 * Folds the summary. The store runs this with every append, so that listings and status checks need not read the log.
 */
export const summarize = (before: SessionSummary | undefined, event: StoredEvent): SessionSummary => {
  const lastTurn = Math.max(before?.lastTurn ?? 0, event.turn);
  const moved = { seq: event.seq, turn: event.turn, lastTurn, updatedAt: event.at };
  if (!before) {
    const blank = { id: event.session, holder: 'agent' as const, createdAt: event.at, messages: 0, ...moved };
    if (event.type === 'session.forked') {
      const fork = decodePayload(event, 'session.forked');
      const { parent, at: forkedAt, messages, agent } = fork;
      const lastTurn = Math.max(fork.lastTurn, event.turn);
      const status = statusOfFork(fork);
      const summary = { ...blank, parent, forkedAt, lastTurn, messages, status, ...(agent && { agent }) };
      return described(summary, fork);
    }
    const { agent, calledBy, ...about } = decodePayload(event, 'session.opened');
    return described({ ...blank, status: 'open', ...(agent && { agent }), ...(calledBy && { calledBy }) }, about);
  }
  const type: EventType | undefined = isEventType(event.type) ? event.type : undefined;
  const after = { ...before, ...moved, status: type ? statusAfter(before.status, type) : before.status };
  if (type === 'message.appended') return { ...after, messages: before.messages + 1 };
  if (type === 'run.waiting' || type === 'child.waiting') return { ...after, waiting: decodePayload(event, type).for };
  if (type && endsWait.has(type)) return notWaiting(after);
  if (type === 'session.handed') return handed(after, event, decodePayload(event, type));
  if (type === 'session.rewound') return rewound(after, decodePayload(event, type));
  if (type === 'agent.bound') return { ...after, agent: decodePayload(event, type).agent };
  if (type === 'session.described') return described(after, decodePayload(event, type));
  return after;
};
