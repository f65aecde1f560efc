import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import type { Actor, MessageId, RunId } from '../../schema/ids.ts';
import type { BrokenContent, BrokenOff, Message } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { findPoint, firstLiveTurn } from '../engine/points.ts';
import { type NewestEvents, readBackward } from '../engine/read-log.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey, StoredEvent } from '../ports/store.ts';
import { type TrackedCall, TrackedCalls } from '../session/context/tracked-calls.ts';
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
  /** The model that wrote the message, as `provider/model`. Absent if no run recorded it. */
  readonly model?: string | undefined;
  readonly message: Message;
  /** Why the answer broke off: `message` has what was shown of it. Absent if the message is complete. */
  readonly brokenOff?: BrokenOff | undefined;
  /** How many characters of a broken-off answer are left out at its end. */
  readonly omittedChars?: number | undefined;
}

type Abandoned = SessionEvent<'message.abandoned'>;

const joinContent = (first: BrokenContent = [], second: BrokenContent = []): BrokenContent => {
  const texts = new Map<BrokenContent[number]['type'], string>();
  for (const { type, text } of [...first, ...second]) texts.set(type, (texts.get(type) ?? '') + text);
  return [...texts].map(([type, text]) => ({ type, text }));
};

/** The entry of a broken-off answer, with what its worker added later. Undefined if nothing of it was stored. */
export const brokenEntry = (
  { seq, turn, at, actor, run, payload }: Abandoned,
  rest?: BrokenContent,
): TranscriptEntry | undefined => {
  const { message: id, why = 'stopped', isRest, omittedChars } = payload;
  const content = joinContent(payload.content, rest);
  if (isRest || content.length === 0) return undefined;
  return {
    seq,
    turn,
    at,
    actor,
    ...(run && { run }),
    message: { id, role: 'assistant', content },
    brokenOff: why,
    ...(omittedChars && { omittedChars }),
  };
};

/** Collects what workers added to answers after they broke off, while a log is read backwards. */
class LateRests {
  readonly #rests = new Map<MessageId, BrokenContent>();

  entryOf(event: Abandoned): TranscriptEntry | undefined {
    const { message, content, isRest } = event.payload;
    const rest = this.#rests.get(message);
    if (isRest) this.#rests.set(message, joinContent(content, rest));
    return brokenEntry(event, rest);
  }

  /** The next request came before these rests, so its context must stay without them. */
  forget(): void {
    this.#rests.clear();
  }
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
  fold: Pick<SessionFold, 'live' | 'seq'>,
  newest?: NewestEvents,
): AsyncGenerator<TranscriptEntry, void, void> {
  const rests = new LateRests();
  for await (const event of liveEvents(scope, key, fold, newest, isMessage)) {
    const entry = entryOf(event, rests);
    if (entry) yield entry;
  }
}

/**
 * What a context is made of: like `messagesOf`, with the tracked calls between the messages. A broken-off answer lacks
 * what was added to it after the next model request.
 */
export async function* historyOf(
  scope: LogAccess,
  key: SessionKey,
  fold: Pick<SessionFold, 'live' | 'seq'>,
  newest?: NewestEvents,
): AsyncGenerator<TranscriptEntry | TrackedCall, void, void> {
  const rests = new LateRests();
  const calls = new TrackedCalls();
  const isWanted = (stored: StoredEvent) =>
    isMessage(stored) || stored.type === 'model.called' || (!stored.run && stored.type.startsWith('tool.'));
  for await (const event of liveEvents(scope, key, fold, newest, isWanted)) {
    if (event.type === 'model.called') rests.forget();
    const item = entryOf(event, rests) ?? calls.take(event);
    if (item) yield item;
  }
}

const isMessage = ({ type }: StoredEvent): boolean => type === 'message.appended' || type === 'message.abandoned';

const entryOf = (event: SessionEvent, rests: LateRests): TranscriptEntry | undefined => {
  if (event.type === 'message.abandoned') return rests.entryOf(event);
  if (event.type !== 'message.appended') return undefined;
  const { seq, turn, at, actor, run, payload } = event;
  const { message, model } = payload;
  return { seq, turn, at, actor, ...(run && { run }), ...(model && { model }), message };
};

/** The wanted events of the live lineage, newest first. */
async function* liveEvents(
  scope: LogAccess,
  key: SessionKey,
  { live, seq: end }: Pick<SessionFold, 'live' | 'seq'>,
  newest: NewestEvents | undefined,
  isWanted: (stored: StoredEvent) => boolean,
): AsyncGenerator<SessionEvent, void, void> {
  for (const [from, to] of liveWithin(live, 0, end).toReversed()) {
    for await (const stored of readBackward(scope.store, key, { from, to, newest })) {
      if (isWanted(stored)) yield newest?.decode(key.workspace, stored) ?? decodeEvent(key.workspace, stored);
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
