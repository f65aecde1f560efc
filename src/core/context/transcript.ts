import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import type { Actor, RunId } from '../../schema/ids.ts';
import type { Message } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { findPoint, firstLiveTurn } from '../engine/points.ts';
import { type NewestEvents, readBackward } from '../engine/read-log.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { liveWithin } from '../session/live-lineage.ts';

export interface TranscriptEntry {
  readonly seq: number;
  readonly turn: number;
  readonly at: number;
  readonly actor: Actor;
  /** The run that wrote the message. Absent if a loop outside Perdure wrote it. */
  readonly run?: RunId | undefined;
  readonly message: Message;
}

/** The messages of the live lineage from `upTo` back to the first, newest first. */
export async function* messagesBackwards(
  scope: LogAccess,
  key: SessionKey,
  upTo?: Point,
): AsyncGenerator<TranscriptEntry, void, void> {
  const fold = upTo ? await scope.folds.at(key, await findPoint(scope, key, upTo)) : await scope.folds.outline(key);
  yield* messagesOf(scope, key, fold);
}

/**
 * Like `messagesBackwards`, but starts from a fold. `newest` are the newest events up to that fold, if they have
 * already been read.
 */
export async function* messagesOf(
  scope: LogAccess,
  key: SessionKey,
  { live, seq: end }: Pick<SessionFold, 'live' | 'seq'>,
  newest?: NewestEvents,
): AsyncGenerator<TranscriptEntry, void, void> {
  for (const [from, to] of liveWithin(live, 0, end).toReversed()) {
    for await (const stored of readBackward(scope.store, key, { from, to, newest })) {
      if (stored.type !== 'message.appended') continue;
      const event = newest?.decode(key.workspace, stored) ?? decodeEvent(key.workspace, stored);
      const { seq, turn, at, actor, run } = event;
      yield {
        seq,
        turn,
        at,
        actor,
        ...(run && { run }),
        message: (event as SessionEvent<'message.appended'>).payload.message,
      };
    }
  }
}

export interface TranscriptOptions {
  readonly at?: Point | undefined;
  /** Limits the messages to this many turns, counted from the end. */
  readonly lastTurns?: number | undefined;
}

const Options = z.strictObject({ at: Point.optional(), lastTurns: z.int().positive().optional() });

export const readTranscript = async (
  scope: LogAccess,
  key: SessionKey,
  options: TranscriptOptions = {},
): Promise<readonly TranscriptEntry[]> => {
  const { at, lastTurns = Number.POSITIVE_INFINITY } = parseInput('the query', Options, options);
  const entries: TranscriptEntry[] = [];
  const turns = new Set<number>();
  for await (const entry of messagesBackwards(scope, key, at)) {
    turns.add(entry.turn);
    if (turns.size > lastTurns) break;
    entries.push(entry);
  }
  return entries.reverse();
};

/** The messages of a range of live turns, both ends inclusive. Turn 0 means all messages before the first turn. */
export const readTurns = async (
  scope: LogAccess,
  key: SessionKey,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly TranscriptEntry[]> => {
  const head = await scope.folds.head(key);
  const first = from > 0 ? await firstLiveTurn(scope.store, key, head, from) : { turn: 0, seq: 1 };
  if (!first || first.turn > to) return [];
  const next = await firstLiveTurn(scope.store, key, head, to + 1);
  const entries: TranscriptEntry[] = [];
  for await (const entry of messagesBackwards(scope, key, { seq: next ? next.seq - 1 : head.seq })) {
    if (entry.seq < first.seq) break;
    entries.push(entry);
  }
  return entries.reverse();
};
