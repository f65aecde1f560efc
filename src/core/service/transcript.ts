import type { SessionEvent } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { Message } from '../../schema/message.ts';
import type { Point } from '../../schema/point.ts';
import type { SessionKey } from '../ports/store.ts';
import {
  assembleContext,
  type Context,
  type ContextEntry,
  defaultContextTokens,
  estimateTokens,
} from '../session/context.ts';
import { decodeEvent } from '../session/event-codec.ts';
import { liveWithin } from '../session/live-lineage.ts';
import { resolvePoint } from './points.ts';
import { readBackward } from './read-log.ts';
import type { Scope } from './scope.ts';

export interface TranscriptEntry {
  readonly seq: number;
  readonly turn: number;
  readonly at: number;
  readonly actor: Actor;
  readonly message: Message;
}

/** The messages of the live lineage from `upTo` back to the first, newest first. */
async function* messagesBackwards(
  scope: Scope,
  key: SessionKey,
  upTo?: Point,
): AsyncGenerator<TranscriptEntry, void, void> {
  const head = await scope.folds.head(key);
  const end = await resolvePoint(scope.store, key, head, upTo);
  const { live } = end === head.seq ? head : await scope.folds.at(key, end);
  for (const [from, to] of liveWithin(live, 0, end).toReversed()) {
    for await (const stored of readBackward(scope.store, key, { from, to })) {
      if (stored.type !== 'message.appended') continue;
      const event = decodeEvent(key.workspace, stored) as SessionEvent<'message.appended'>;
      const { seq, turn, at, actor } = event;
      yield { seq, turn, at, actor, message: event.payload.message };
    }
  }
}

export interface TranscriptOptions {
  readonly at?: Point | undefined;
  /** Only the messages of so many turns, counted from the end. */
  readonly lastTurns?: number | undefined;
}

export const readTranscript = async (
  scope: Scope,
  key: SessionKey,
  { at, lastTurns = Number.POSITIVE_INFINITY }: TranscriptOptions = {},
): Promise<readonly TranscriptEntry[]> => {
  const entries: TranscriptEntry[] = [];
  const turns = new Set<number>();
  for await (const entry of messagesBackwards(scope, key, at)) {
    turns.add(entry.turn);
    if (turns.size > lastTurns) break;
    entries.push(entry);
  }
  return entries.reverse();
};

export interface ContextOptions {
  readonly at?: Point | undefined;
  readonly maxTokens?: number | undefined;
}

/** Reads back no further than the budget reaches, and to the opening of the newest turn in any case. */
export const readContext = async (
  scope: Scope,
  key: SessionKey,
  { at, maxTokens = defaultContextTokens }: ContextOptions = {},
): Promise<Context> => {
  const entries: ContextEntry[] = [];
  let tokens = 0;
  for await (const entry of messagesBackwards(scope, key, at)) {
    if (tokens > maxTokens && entry.turn !== entries[0]!.turn) break;
    entries.push(entry);
    tokens += estimateTokens(entry.message);
  }
  return assembleContext(entries.reverse(), maxTokens);
};
