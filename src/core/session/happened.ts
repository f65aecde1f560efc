import type { EventDraft, PayloadOf, SessionEvent } from '../../schema/event.ts';
import { type HappenedCall, type HappenedCalls, maxHappenedCalls } from '../../schema/happened.ts';
import type { Actor } from '../../schema/ids.ts';
import type { CallStatus } from '../ports/store.ts';
import { mayHaveTakenEffect } from '../ports/store.ts';
import { isSameJson } from './state/patch-between.ts';

/** The calls that a session's newest rewind, fork or adoption recorded. */
export interface HappenedFold extends HappenedCalls {
  /**
   * The seq of the newest rewind or fork that recorded calls. From there on, contexts name them. An adoption does not
   * change it, because a context must not change within a turn.
   */
  readonly since: number;
}

export const noneHappened: HappenedCalls = { calls: [], more: 0 };

export const foldHappened = (
  before: HappenedFold | undefined,
  { seq, imported, payload: { verb, calls, more } }: SessionEvent<'calls.happened'>,
): HappenedFold => ({
  // The author of a bundle may have written the inputs.
  calls: imported ? calls.map((call) => ({ ...call, tainted: true as const })) : calls,
  more,
  since: verb === 'adopt' ? (before?.since ?? 0) : seq,
});

const effective: ReadonlySet<CallStatus> = new Set(mayHaveTakenEffect);

/** Whether the call took effect, or may have. */
export const tookEffect = ({ outcome }: Pick<HappenedCall, 'outcome'>): boolean => effective.has(outcome);

const nameOf = ({ session, seq }: HappenedCall): string => `${session}/${seq}`;

const inOrder = (a: HappenedCall, b: HappenedCall): number => a.at - b.at || a.seq - b.seq;

/**
 * Joins lists of calls. Of two entries for one call, the later list's one wins. `isBack` reports calls that are on the
 * live lineage again.
 */
export const joinHappened = (
  lists: readonly (HappenedCalls | undefined)[],
  isBack: (call: HappenedCall) => boolean = () => false,
): HappenedCalls => {
  const calls = new Map<string, HappenedCall>();
  for (const call of lists.flatMap((list) => list?.calls ?? [])) {
    // Only the list of the first rewind knows that the lineage was tainted.
    const { tainted } = calls.get(nameOf(call)) ?? {};
    calls.set(nameOf(call), tainted ? { ...call, tainted } : call);
  }
  const all = [...calls.values()].filter((call) => !isBack(call)).sort(inOrder);
  const more = Math.max(0, ...lists.map((list) => list?.more ?? 0));
  return { calls: all.slice(-maxHappenedCalls), more: more + Math.max(0, all.length - maxHappenedCalls) };
};

/** The calls of a list that another list does not name. */
export const newlyHappened = (all: HappenedCalls, known: HappenedCalls = noneHappened): HappenedCalls => {
  const names = new Set(known.calls.map(nameOf));
  return {
    calls: all.calls.filter((call) => !names.has(nameOf(call))),
    more: Math.max(0, all.more - known.more),
  };
};

/** The event that records the calls. None if the session knows exactly these. */
export const happenedDrafts = (
  { happened: known }: { readonly happened?: HappenedFold | undefined },
  happened: HappenedCalls | undefined,
  about: { readonly verb: PayloadOf<'calls.happened'>['verb']; readonly actor: Actor; readonly turn: number },
): readonly EventDraft[] => {
  const { verb, ...header } = about;
  if (!happened || isSameJson({ calls: known?.calls ?? [], more: known?.more ?? 0 }, happened)) return [];
  return [{ type: 'calls.happened', payload: { verb, ...happened }, ...header }];
};
