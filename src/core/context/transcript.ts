import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import type { Actor, MessageId, RunId } from '../../schema/ids.ts';
import type { BrokenContent, BrokenOff, Message } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { fillPage, maxPageItems, pageFields, partsOfCursor, wrongCursor } from '../engine/page.ts';
import { findPoint, firstLiveTurn } from '../engine/points.ts';
import { type NewestEvents, readBackward } from '../engine/read-log.ts';
import type { LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { SessionKey, StoredEvent } from '../ports/store.ts';
import { type TrackedCall, TrackedCalls } from '../session/context/tracked-calls.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive, liveWithin } from '../session/live-lineage.ts';

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
  /** The key that recalls the whole result, if the message has only its beginning and its end. */
  readonly cut?: string | undefined;
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

interface LateRest {
  readonly content: BrokenContent;
  /** The events that have it, newest first. */
  readonly seqs: readonly number[];
}

/** Collects what workers added to answers after they broke off, while a log is read backwards. */
class LateRests {
  readonly #rests = new Map<MessageId, LateRest>();

  entryOf(event: Abandoned): TranscriptEntry | undefined {
    const { message, content, isRest } = event.payload;
    const rest = this.#rests.get(message);
    if (!isRest) this.#rests.delete(message);
    else {
      const seqs = [...(rest?.seqs ?? []), event.seq];
      this.#rests.set(message, { content: joinContent(content, rest?.content), seqs });
    }
    return brokenEntry(event, rest?.content);
  }

  /** The events that belong to an answer which has not been read yet. */
  pending(): readonly number[] {
    return [...this.#rests.values()].flatMap(({ seqs }) => seqs);
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
  yield* messagesOf(scope, key, await foldAt(scope, key, upTo));
}

const foldAt = async (scope: LogAccess, key: SessionKey, upTo: Point | undefined) =>
  upTo ? scope.folds.at(key, await findPoint(scope, key, upTo)) : scope.folds.outline(key);

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

export const isMessage = ({ type }: StoredEvent): boolean =>
  type === 'message.appended' || type === 'message.abandoned';

const entryOf = (event: SessionEvent, rests: LateRests): TranscriptEntry | undefined => {
  if (event.type === 'message.abandoned') return rests.entryOf(event);
  if (event.type !== 'message.appended') return undefined;
  const { seq, turn, at, actor, run, payload } = event;
  const { message, model, cut } = payload;
  return { seq, turn, at, actor, ...(run && { run }), ...(model && { model }), message, ...(cut && { cut }) };
};

/** The wanted events of the live lineage, newest first. */
export async function* liveEvents(
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
  /** At most 1000, which is also the default. A page also ends at 4 MiB. */
  readonly limit?: number | undefined;
  /** Continues with the messages before an earlier page of the same transcript. */
  readonly cursor?: string | undefined;
}

export interface TranscriptPage {
  /** The newest messages of the transcript, or those before the earlier page, oldest first. */
  readonly entries: readonly TranscriptEntry[];
  /** The cursor of the page with the messages before these. Absent if there are none. */
  readonly cursor?: string;
}

const Options = z.strictObject({
  at: Point.optional(),
  lastTurns: z.int().positive().optional(),
  ...pageFields,
});

/** Where a page continues. A broken-off answer is the same on every page, so the cursor names its late rests. */
interface Start {
  /** The page before begins with this event. */
  readonly before: number;
  /** The number of turns up to there, counted from the end, and the last one of them. */
  readonly turns: number;
  readonly turn: number;
  readonly rests: readonly number[];
}

/** Every answer has few rests, and few answers break off at the same time. */
const maxRests = 10;

const startOf = (cursor: string): Start => {
  const form = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})((?:\.\d{1,15}){0,10})$/;
  const [before, turns, turn, rests] = partsOfCursor(cursor, form);
  const seqs = rests === '' ? [] : rests!.slice(1).split('.').map(Number);
  return { before: Number(before), turns: Number(turns), turn: Number(turn), rests: seqs };
};

const cursorOf = ({ before, turns, turn, rests }: Start): string =>
  [before, turns, turn, ...rests.slice(0, maxRests)].join('.');

/** Reads the rests that a cursor names. One that has been left behind by a rewind is not part of the answer. */
const readRests = async (
  scope: LogAccess,
  key: SessionKey,
  { live, seq: end }: Pick<SessionFold, 'live' | 'seq'>,
  seqs: readonly number[],
): Promise<LateRests> => {
  const rests = new LateRests();
  for (const seq of seqs.filter((each) => each <= end && isLive(live, each))) {
    const [stored] = await eventLoop.reading(() => scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 }));
    const event = stored && isMessage(stored) ? decodeEvent(key.workspace, stored) : undefined;
    if (event?.type !== 'message.abandoned' || !event.payload.isRest) throw wrongCursor();
    rests.entryOf(event);
  }
  return rests;
};

interface Placed {
  readonly entry: TranscriptEntry;
  /** Where a page continues that begins with this entry. */
  readonly start: Start;
}

/** The messages of the last turns, newest first. */
async function* placedBackwards(
  scope: LogAccess,
  key: SessionKey,
  fold: Pick<SessionFold, 'live' | 'seq'>,
  { start, lastTurns }: { readonly start: Start | undefined; readonly lastTurns: number },
): AsyncGenerator<Placed, void, void> {
  const rests = await readRests(scope, key, fold, start?.rests ?? []);
  const end = start ? Math.min(fold.seq, start.before - 1) : fold.seq;
  let [turns, turn] = [start?.turns ?? 0, start?.turn];
  for await (const event of liveEvents(scope, key, { live: fold.live, seq: end }, undefined, isMessage)) {
    const entry = entryOf(event, rests);
    if (!entry) continue;
    if (entry.turn !== turn) turns += 1;
    if (turns > lastTurns) return;
    turn = entry.turn;
    yield { entry, start: { before: entry.seq, turns, turn, rests: rests.pending() } };
  }
}

/** Returns the newest page of the transcript, or the page before an earlier one. */
export const readTranscript = async (
  scope: LogAccess,
  key: SessionKey,
  options: TranscriptOptions = {},
): Promise<TranscriptPage> => {
  const parsed = parseInput('the query', Options, options);
  const { at, lastTurns = Number.POSITIVE_INFINITY, limit = maxPageItems, cursor } = parsed;
  const start = cursor === undefined ? undefined : startOf(cursor);
  const fold = await foldAt(scope, key, at);
  const { items, isMore } = await fillPage(placedBackwards(scope, key, fold, { start, lastTurns }), limit);
  const entries = items.map(({ entry }) => entry).reverse();
  return { entries, ...(isMore && { cursor: cursorOf(items.at(-1)!.start) }) };
};

/** The first and the last seq of a range of live turns, both ends inclusive. Undefined if no live turn is in it. */
export const rangeOfTurns = async (scope: LogAccess, key: SessionKey, head: SessionFold, from: number, to: number) => {
  const first = from > 0 ? await firstLiveTurn(scope.store, key, head, from) : { turn: 0, seq: 1 };
  if (!first || first.turn > to) return undefined;
  const next = await firstLiveTurn(scope.store, key, head, to + 1);
  return { first: first.seq, last: next ? next.seq - 1 : head.seq };
};

/** The messages of a range of live turns, both ends inclusive. Turn 0 means all messages before the first turn. */
export const readTurns = async (
  scope: LogAccess,
  key: SessionKey,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly TranscriptEntry[]> => {
  const head = await scope.folds.head(key);
  const range = await rangeOfTurns(scope, key, head, from, to);
  if (!range) return [];
  const entries: TranscriptEntry[] = [];
  for await (const entry of messagesBackwards(scope, key, { seq: range.last })) {
    if (entry.seq < range.first) break;
    entries.push(entry);
  }
  return entries.reverse();
};
