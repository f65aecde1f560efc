import { createHash } from 'node:crypto';
import type { AppendOutcome, NewEvent, SessionKey } from '../../../core/ports/store.ts';
import type { Status } from '../../../schema/lifecycle.ts';

/**
 * The expected content of a store, as simply as possible: every session has its whole sequence, and a fork copies it.
 */
export interface ModelEvent {
  readonly session: string;
  readonly at: number;
  readonly turn: number;
  readonly opensTurn: boolean;
  readonly type: string;
  readonly payloadHash: string;
}

export interface ModelSession {
  readonly key: SessionKey;
  readonly root: string;
  readonly parent?: { readonly session: string; readonly seq: number };
  readonly events: ModelEvent[];
  readonly keys: Map<string, { bodyHash: string; seq: number; count: number }>;
  epoch: number;
  status: Status;
  lastTurn: number;
}

export interface ModelAppend {
  readonly events: readonly NewEvent[];
  readonly at: number;
  readonly epoch?: number | undefined;
  readonly onHead?: number | undefined;
  readonly whileStatus?: readonly Status[] | undefined;
  readonly raisesEpoch?: boolean | undefined;
  readonly key?: { readonly key: string; readonly bodyHash: string } | undefined;
}

/** The comparable part of an outcome. Events and head are compared later, when everything is read. */
type ModelOutcome =
  | Exclude<AppendOutcome, { outcome: 'appended' }>
  | { readonly outcome: 'appended'; readonly seq: number };

export const payloadHash = (payload: Uint8Array): string => createHash('sha256').update(payload).digest('hex');

const statusOf: Readonly<Record<string, Status>> = {
  'session.opened': 'open',
  'session.paused': 'paused',
  'session.resumed': 'active',
};

const addEvents = (session: ModelSession, { events, at }: ModelAppend): void => {
  const time = Math.max(at, session.events.at(-1)?.at ?? 0);
  for (const event of events) {
    const current = session.events.at(-1)?.turn ?? 0;
    const named = event.turn === 'current' ? current : event.turn;
    const turn = named === 'next' ? session.lastTurn + 1 : named;
    session.events.push({
      session: session.key.session,
      at: time,
      turn,
      opensTurn: turn > session.lastTurn,
      type: event.type,
      payloadHash: payloadHash(event.payload),
    });
    session.lastTurn = Math.max(session.lastTurn, turn);
    session.status = statusOf[event.type] ?? session.status;
    if (event.type === 'message.appended' && session.status === 'open') session.status = 'active';
  }
};

export const modelCreate = (key: SessionKey, creation: ModelAppend): ModelSession => {
  const session: ModelSession = {
    key,
    root: key.session,
    events: [],
    keys: new Map(),
    epoch: 0,
    status: 'open',
    lastTurn: 0,
  };
  addEvents(session, creation);
  return session;
};

export const highestTurn = (session: ModelSession, seq: number): number =>
  session.events.slice(0, seq).reduce((highest, { turn }) => Math.max(highest, turn), 0);

export const modelFork = (key: SessionKey, from: ModelSession, seq: number, creation: ModelAppend): ModelSession => {
  const fork: ModelSession = {
    key,
    root: from.root,
    parent: { session: from.key.session, seq },
    events: from.events.slice(0, seq),
    keys: new Map(),
    epoch: 0,
    status: 'active',
    lastTurn: highestTurn(from, seq),
  };
  addEvents(fork, creation);
  return fork;
};

/** Changes the session if the append lands, and returns the outcome that a store must report. */
export const modelAppend = (session: ModelSession, request: ModelAppend): ModelOutcome => {
  const { epoch, onHead, whileStatus, key, events } = request;
  const before = key && session.keys.get(key.key);
  if (before && before.bodyHash !== key.bodyHash) return { outcome: 'key-reused' };
  if (before) return { outcome: 'duplicate', seq: before.seq, count: before.count };
  if (epoch !== undefined && epoch !== session.epoch) return { outcome: 'fenced', epoch: session.epoch };
  const head = session.events.length;
  if (onHead !== undefined && onHead !== head) return { outcome: 'conflict', head };
  if (whileStatus && !whileStatus.includes(session.status)) return { outcome: 'status', status: session.status };
  addEvents(session, request);
  if (request.raisesEpoch) session.epoch += 1;
  if (key) session.keys.set(key.key, { bodyHash: key.bodyHash, seq: head + 1, count: events.length });
  return { outcome: 'appended', seq: session.events.length };
};
