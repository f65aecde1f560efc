import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { Appended, AppendOutcome, IdempotencyKey, SessionKey, Writer } from '../ports/store.ts';
import { decide, type SessionCommand } from '../session/decide.ts';
import type { Decision } from '../session/decision.ts';
import { decodeEvent, decodeJson, encodeJson } from '../session/events/event-codec.ts';
import { canonical } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { illegalTransition, statusesThatAllow } from '../session/lifecycle.ts';
import { appendDrafts, onTopOf } from './append-drafts.ts';
import type { Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

const maxDecisions = 10;
const maxPauseMs = 50;

/** Two that decide about the same session again and again would otherwise keep in step, and the slower never have its turn. */
export const turnAside = (attempt: number): Promise<void> =>
  attempt === 0 ? Promise.resolve() : setTimeout(Math.random() * Math.min(2 ** attempt, maxPauseMs));

export interface ExecuteOptions {
  readonly idempotencyKey?: string | undefined;
  /** What the caller asked for, in its own words: the same key must come with the same. */
  readonly body?: unknown;
  /** Of the run that asks: refused with FENCED once another writer has taken over. */
  readonly epoch?: number | undefined;
}

/**
 * A command; or what is to be commanded on the outline that it will be decided on, asked again when that has moved. Undefined when
 * nothing is to be done.
 */
export type Asked = SessionCommand | ((state: SessionFold) => Promise<SessionCommand | undefined>);

interface Decided {
  readonly state: SessionFold;
  readonly command: SessionCommand;
  readonly decision: Decision;
}

/** Of one member: what another asks for is something else. */
const keyFor = (key: string, by: Actor, body: unknown): IdempotencyKey => ({
  key,
  bodyHash: hash('sha256', encodeJson(canonical(decodeJson(encodeJson({ by, body: body ?? null })))), 'hex'),
});

const keyReused = (key: SessionKey): PerdureError =>
  new PerdureError(
    'KEY_REUSED',
    'this idempotency key was used for something else in this session: take a new key for a new request',
    { details: { ...key } },
  );

/** The error for an outcome that no new decision can mend. */
export const refusal = (
  key: SessionKey,
  outcome: Exclude<AppendOutcome, Appended>,
  decision: Decision,
): PerdureError => {
  switch (outcome.outcome) {
    case 'missing':
      return sessionNotFound(key);
    case 'exists':
      return new PerdureError('SESSION_EXISTS', `${key.session} exists already: take another id`, {
        details: { ...key },
      });
    case 'key-reused':
      return keyReused(key);
    case 'fenced':
      return new PerdureError(
        'FENCED',
        'another writer has taken over this session: stop, its epoch is not yours any more',
        {
          details: { ...key, epoch: outcome.epoch },
        },
      );
    case 'status':
      return illegalTransition(outcome.status, decision.command);
    case 'conflict':
    case 'duplicate':
      return new PerdureError(
        'CONFLICT',
        `${key.session} kept changing while this was decided (${maxDecisions} times): try again when it is quieter`,
        { details: { ...key, attempts: maxDecisions } },
      );
  }
};

const earlierEvents = async (
  scope: Scope,
  key: SessionKey,
  seq: number,
  count: number,
): Promise<readonly SessionEvent[]> => {
  const stored = await scope.store.read(key, { after: seq - 1, upTo: seq + count - 1, limit: count });
  if (stored.length < count) throw keyWithoutEvents(key, seq);
  return stored.map((event) => decodeEvent(key.workspace, event));
};

const keyWithoutEvents = (key: SessionKey, seq: number): PerdureError =>
  new PerdureError(
    'EVENT_DAMAGED',
    `event ${seq} of ${key.session}, which this idempotency key stands for, is missing; run \`perdure verify ${key.session}\``,
    {
      details: { ...key, seq },
    },
  );

/** What a key was used for before. A repetition gets the first answer, whatever became of the session since. */
const usedBefore = async (scope: Scope, key: SessionKey, wanted: IdempotencyKey | undefined) => {
  if (!wanted) return undefined;
  const used = (await scope.store.keys(key, wanted.key)).find((each) => each.key === wanted.key);
  if (used && used.bodyHash !== wanted.bodyHash) throw keyReused(key);
  return used && earlierEvents(scope, key, used.seq, used.count);
};

const decideOn = async (scope: Scope, state: SessionFold, asked: Asked): Promise<Decided | undefined> => {
  const command = typeof asked === 'function' ? await asked(state) : asked;
  if (!command) return undefined;
  return { state, command, decision: decide(state, command, scope.actor, await scope.secrets.redactor()) };
};

/** A refusal, or that nothing is to be done, is not final on a fold that may be behind: it is decided again on the newest. */
const decideOnNewest = async (
  scope: Scope,
  key: SessionKey,
  asked: Asked,
  attempt: number,
): Promise<Decided | undefined> => {
  if (attempt === 0) {
    const state = await scope.folds.recentOutline(key);
    try {
      const decided = await decideOn(scope, state, asked);
      if (decided?.decision.drafts.length) return decided;
    } catch (error) {
      if (!(error instanceof PerdureError)) throw error;
    }
  }
  return decideOn(scope, await scope.folds.outline(key), asked);
};

/** A result may need the head it was decided on. */
const isFact = (asked: Asked): boolean =>
  'type' in asked && asked.type === 'append' && asked.messages.every(({ role }) => role !== 'tool');

/** Facts land at any head and wait for nobody; decisions about a session wait for each other. */
export const execute = (
  scope: Scope,
  key: SessionKey,
  asked: Asked,
  options: ExecuteOptions = {},
): Promise<readonly SessionEvent[]> => {
  const { idempotencyKey, body, epoch } = options;
  // At once: what the caller does with its objects later changes nothing.
  const idempotency = idempotencyKey === undefined ? undefined : keyFor(idempotencyKey, scope.actor, body);
  const work = () => decideAndAppend(scope, key, asked, idempotency, epoch);
  return isFact(asked) ? work() : scope.folds.inTurn(key, work);
};

/** Whether the next decision may go better. */
const mayChange = ({ outcome }: AppendOutcome, { takesOver }: Decision): boolean =>
  outcome === 'conflict' || outcome === 'status' || (outcome === 'fenced' && takesOver === true);

const writerFor = async (
  scope: Scope,
  key: SessionKey,
  { takesOver }: Decision,
  epoch: number | undefined,
): Promise<Writer> => {
  if (epoch !== undefined) return { kind: 'run', epoch };
  if (!takesOver) return { kind: 'outside' };
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  return { kind: 'run', epoch: head.epoch };
};

/** Decides, appends, and decides again when the head it decided on has moved: a bounded number of times. */
const decideAndAppend = async (
  scope: Scope,
  key: SessionKey,
  asked: Asked,
  idempotency: IdempotencyKey | undefined,
  epoch: number | undefined,
): Promise<readonly SessionEvent[]> => {
  for (let attempt = 0; ; attempt++) {
    let decided: Decided | undefined;
    try {
      decided = await decideOnNewest(scope, key, asked, attempt);
    } catch (refused) {
      const earlier = refused instanceof PerdureError ? await usedBefore(scope, key, idempotency) : undefined;
      if (earlier) return earlier;
      throw refused;
    }
    if (!decided?.decision.drafts.length) return (await usedBefore(scope, key, idempotency)) ?? [];
    const { state, command, decision } = decided;
    const written = await appendDrafts(scope, key, decision.drafts, {
      writer: await writerFor(scope, key, decision, epoch),
      whileStatus: statusesThatAllow(decision.command),
      ...(!decision.fact && onTopOf(state)),
      ...(decision.raisesEpoch && { raisesEpoch: true }),
      ...(idempotency && { key: idempotency }),
    });
    if ('events' in written) {
      const target = 'target' in command ? command.target : undefined;
      scope.folds.advance(key, state, written, target);
      return written.events;
    }
    const { outcome } = written;
    if (outcome.outcome === 'duplicate') return earlierEvents(scope, key, outcome.seq, outcome.count);
    scope.folds.forget(key);
    if (!mayChange(outcome, decision) || attempt + 1 >= maxDecisions) throw refusal(key, outcome, decision);
    await turnAside(attempt);
  }
};
