import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { findPoint } from '../engine/points.ts';
import { NewestEvents } from '../engine/read-log.ts';
import type { AgentAccess, LogAccess, WriteAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { SessionKey } from '../ports/store.ts';
import { assembleContext, type Context, defaultContextTokens, type SystemSource } from '../session/context/context.ts';
import { type ContextEntry, estimateTokens } from '../session/context/context-units.ts';
import { turnsOfKey } from '../session/context/recall-key.ts';
import { systemText } from '../session/context/system-text.ts';
import { joinTracked, shownMessages, type TrackedCall } from '../session/context/tracked-calls.ts';
import { boundAgent } from '../session/decide-commit.ts';
import type { SessionFold } from '../session/fold.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { redactContext } from '../session/redaction/redact-context.ts';
import { waitingOf } from '../session/waiting.ts';
import { historyOf } from './transcript.ts';

export interface ContextOptions {
  readonly at?: Point | undefined;
  readonly maxTokens?: number | undefined;
  /** Replaces the instructions of the agent that the session is bound to. */
  readonly instructions?: string | undefined;
}

const Options = z.strictObject({
  at: Point.optional(),
  maxTokens: z.number().positive().default(defaultContextTokens),
  instructions: Text.optional(),
});

/**
 * The fold at the start of the turn. The system text is made from it and stays the same within a turn, so that each
 * request to the model extends the previous one.
 */
const atTurnStart = async (scope: LogAccess, key: SessionKey, fold: SessionFold): Promise<SessionFold> => {
  const known = scope.folds.beforeTurn(key, fold);
  if (known) return known;
  const [start] = fold.turn > 0 ? await scope.store.turnStarts(key, { from: fold.turn, limit: 1 }) : [];
  return start?.turn === fold.turn && start.seq > 1 ? scope.folds.at(key, start.seq - 1) : fold;
};

/** The fold without the input that the turn answers, which was still waiting when the turn began. */
const withoutOwnInput = (began: SessionFold, entries: readonly ContextEntry[], turn: number): SessionFold => {
  const opening = entries.find((entry) => entry.turn === turn)?.message.id;
  return { ...began, queue: began.queue.filter(({ message }) => message.id !== opening) };
};

/** The parts of a context: the candidate messages, and the system text before them. */
export interface ContextParts extends SystemSource {
  readonly entries: readonly ContextEntry[];
}

/** The first turn that the newest summary does not cover. */
const firstUncovered = ({ compaction }: SessionFold): number => {
  const covered = compaction && turnsOfKey(compaction.evicted[0] ?? '');
  return covered ? covered.to + 1 : 0;
};

interface PartsOptions {
  readonly fold: SessionFold;
  readonly maxTokens: number;
  readonly instructions: string | undefined;
  readonly redactor: Redactor;
  /** The newest events up to the fold, if they have already been read. */
  readonly newest?: NewestEvents | undefined;
}

/**
 * Reads the newest turn, and earlier turns as far as the budget and the newest compaction allow. Long messages are
 * counted with the length that they have after clipping.
 */
export const readContextParts = async (
  scope: LogAccess,
  key: SessionKey,
  { fold, maxTokens, instructions, redactor, newest }: PartsOptions,
): Promise<ContextParts> => {
  const began = await atTurnStart(scope, key, fold);
  // A rewind or fork within the turn begins a new context anyway, so what it left behind is named at once.
  const happened = (fold.happened?.since ?? 0) > began.seq ? fold.happened : began.happened;
  const entries: ContextEntry[] = [];
  const calls: TrackedCall[] = [];
  let earlier = 0;
  let oldest = fold.turn;
  let isCut = false;
  for await (const item of historyOf(scope, key, fold, newest)) {
    if (item.seq <= (fold.compaction?.to ?? 0)) break;
    if (earlier > maxTokens && item.turn !== oldest) {
      isCut = true;
      break;
    }
    oldest = item.turn;
    const isCall = 'callId' in item;
    if (isCall) calls.push(item);
    else entries.push(item);
    if (oldest === fold.turn) continue;
    const messages = isCall ? shownMessages(item) : [item.message];
    for (const message of messages) earlier += Math.min(estimateTokens(message), maxTokens / 8);
  }
  const joined = joinTracked(entries.reverse(), calls.reverse());
  const waiting = waitingOf(withoutOwnInput(began, entries, fold.turn), (text) => redactor.text(text));
  const parts = { instructions, began, waiting, compaction: fold.compaction, happened, lost: fold.lost };
  return {
    entries: joined,
    systemWithin: (spare, leaves) => systemText(parts, spare, leaves),
    ...(isCut && { oldest: firstUncovered(fold) }),
  };
};

/**
 * Assembles the context of a session. `settle` ends calls that the fold shows in flight and whose loop is dead. It
 * returns true if it wrote something, so that the session is read again.
 */
export const readContext = async (
  scope: LogAccess & AgentAccess & Pick<WriteAccess, 'secrets'>,
  key: SessionKey,
  options: ContextOptions = {},
  settle?: (fold: SessionFold) => Promise<boolean>,
): Promise<Context> => {
  const { at, maxTokens, instructions: given } = parseInput('the context', Options, options);
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  const reading = at ? undefined : NewestEvents.read(scope.store, key, head.seq);
  const [newest, fold, redactor] = await Promise.all([
    reading,
    at ? scope.folds.at(key, await findPoint(scope, key, at)) : scope.folds.atHead(head, reading),
    scope.secrets.redactor(),
  ]);
  if (!at && (await settle?.(fold))) return readContext(scope, key, options);
  const instructions = given ?? boundAgent(fold, scope.agents)?.instructions;
  const parts = await readContextParts(scope, key, { fold, maxTokens, instructions, redactor, newest });
  return redactContext(assembleContext(parts.entries, maxTokens, parts), redactor);
};
