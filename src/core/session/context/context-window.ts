import { clipResults } from './clip-results.ts';
import { textTokens, type Unit } from './context-units.ts';

/**
 * The shares of the window that the newest turn may grow to. The steps are few and large, so that the beginning of the
 * prompt seldom changes and the provider can cache it.
 */
const sharesOfTurn = [1 / 8, 1 / 2, 1];

export interface ContextWindow {
  readonly kept: readonly Unit[];
  /** A note to the model if a part of the newest turn is left out. */
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

/** The note about a left-out part. It is omitted if it would need more than a quarter of the room. */
const noteFor = ({ turn, tokens }: Unit, maxTokens: number): { readonly note?: string; readonly room: number } => {
  const room = maxTokens - tokens;
  const note = `(A part of this turn is left out; recall turn:${turn} for all of it.)`;
  const noteTokens = textTokens(note) + 2;
  return noteTokens * 4 <= room ? { note, room: room - noteTokens } : { room };
};

/**
 * Selects the turns that a model receives. The choice of earlier turns does not depend on the newest turn until the
 * newest turn exceeds its share. A newest turn that is larger than the window keeps its first message and its end.
 */
export const windowOf = (units: readonly Unit[], maxTokens: number): ContextWindow => {
  const newest = units.at(-1);
  if (!newest) return { kept: [], leftOut: [] };
  const start = units.findIndex(({ turn }) => turn === newest.turn);
  const opening = units[start]!;
  const { note, room } = noteFor(opening, maxTokens);
  const clipped = (unit: Unit): Unit => clipResults(unit, room / 2);
  const rest = units.slice(start + 1).map(clipped);
  const turn = [opening, ...rest];
  const share = sharesOfTurn.find((each) => tokensOf(turn) <= maxTokens * each);
  if (share === undefined) return { kept: [opening, ...endWithin(rest, room)], leftOut: note ? [note] : [] };
  const earlier = share === 1 ? [] : newestTurns(units.slice(0, start).map(clipped), maxTokens * (1 - share));
  return { kept: [...earlier, ...turn], leftOut: [] };
};
