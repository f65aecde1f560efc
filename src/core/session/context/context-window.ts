import { clipResults } from './clip-results.ts';
import { textTokens, type Unit } from './context-units.ts';
import { turnsKey } from './recall-key.ts';

/**
 * The shares of the window that the newest turn may grow to. The steps are few and large, so that the beginning of the
 * prompt seldom changes and the provider can cache it.
 */
const sharesOfTurn = [1 / 8, 1 / 2, 1];

export interface ContextWindow {
  readonly kept: readonly Unit[];
  /** Notes to the model about turns that are left out, in whole or in part. */
  readonly notes: readonly string[];
  /** The keys of these turns. */
  readonly leftOut: readonly string[];
}

const tokensOf = (units: readonly Unit[]): number => units.reduce((sum, { tokens }) => sum + tokens, 0);

/** The newest whole turns that fit. */
const newestTurns = (units: readonly Unit[], maxTokens: number): readonly Unit[] => {
  let start = units.length;
  let used = 0;
  for (let index = units.length - 1; index >= 0; index--) {
    used += units[index]!.tokens;
    if (used > maxTokens) break;
    if (units[index - 1]?.turn !== units[index]!.turn) start = index;
  }
  return units.slice(start);
};

/** The newest units that fit. The dropped part grows in steps of half the room, so that the window seldom moves. */
const endWithin = (units: readonly Unit[], maxTokens: number): readonly Unit[] => {
  const excess = tokensOf(units) - maxTokens;
  if (excess <= 0) return units;
  const step = Math.max(maxTokens / 2, 1);
  const dropped = Math.ceil(excess / step) * step;
  let start = 0;
  for (let before = 0; before < dropped && start < units.length; start++) before += units[start]!.tokens;
  return units.slice(start);
};

/** A note that is omitted if it would need more than a quarter of the room, and the room that it leaves. */
const noteWithin = (note: string, room: number): { readonly notes: readonly string[]; readonly room: number } => {
  const noteTokens = textTokens(note) + 2;
  return noteTokens * 4 <= room ? { notes: [note], room: room - noteTokens } : { notes: [], room };
};

const earlierNote = (key: string): string => `(Earlier turns are left out; recall ${key} for all of them.)`;

/**
 * Selects the turns that a model receives. The choice of earlier turns does not depend on the newest turn until the
 * newest turn exceeds its share. A newest turn that is larger than the window keeps its first message and its end.
 * `oldest` is the first turn that no summary covers, if the units do not reach back to it.
 */
export const windowOf = (units: readonly Unit[], maxTokens: number, oldest?: number): ContextWindow => {
  const newest = units.at(-1);
  if (!newest) return { kept: [], notes: [], leftOut: [] };
  const start = units.findIndex(({ turn }) => turn === newest.turn);
  const opening = units[start]!;
  const first = oldest ?? units[0]!.turn;
  const isFirst = start === 0 && oldest === undefined;
  // Room for the longest note, so that the choice does not depend on its length.
  const reserved = isFirst
    ? { room: maxTokens - opening.tokens }
    : noteWithin(earlierNote(turnsKey(first, newest.turn)), maxTokens - opening.tokens);
  const most = opening.tokens + reserved.room;
  const { notes, room } = noteWithin(
    `(A part of this turn is left out; recall turn:${newest.turn} for all of it.)`,
    reserved.room,
  );
  const clipped = (unit: Unit): Unit => clipResults(unit, room / 2);
  const rest = units.slice(start + 1).map(clipped);
  const turn = [opening, ...rest];
  const share = sharesOfTurn.find((each) => tokensOf(turn) <= most * each);
  const before = units.slice(0, start);
  const earlier = share === undefined || share === 1 ? [] : newestTurns(before.map(clipped), most * (1 - share));
  const isWhole = isFirst || (earlier.length === before.length && oldest === undefined);
  const dropped = isWhole ? [] : [turnsKey(first, (earlier[0] ?? opening).turn - 1)];
  const earlierNotes = 'notes' in reserved && reserved.notes.length > 0 ? dropped.map(earlierNote) : [];
  if (share !== undefined) return { kept: [...earlier, ...turn], notes: earlierNotes, leftOut: dropped };
  return {
    kept: [opening, ...endWithin(rest, room)],
    notes: [...earlierNotes, ...notes],
    leftOut: [...dropped, turnsKey(newest.turn, newest.turn)],
  };
};
