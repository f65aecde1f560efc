import type { EarlierCall, HappenedCall } from '../../schema/happened.ts';
import type { Json } from '../../schema/json.ts';
import type { SessionKey } from '../ports/store.ts';
import { viewersOf } from '../ports/viewers.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { tookEffect } from '../session/happened.ts';
import { liveAndAfter } from '../session/live-lineage.ts';
import { keyOf, type LogAccess, type SightAccess, seeingAll } from './scope.ts';

/** Subagents of subagents are followed to this depth. */
const maxDepth = 8;

/** An earlier call that was found, with its place. */
type FoundCall = Pick<HappenedCall, keyof EarlierCall>;

const repeatIn = async (
  { store }: LogAccess,
  key: SessionKey,
  { happened, inputKey, live }: SessionFold,
  { tool, input }: { readonly tool: string; readonly input: Json },
): Promise<FoundCall | undefined> => {
  const hash = inputHash(inputKey, input);
  const told = happened?.calls.findLast((call) => call.tool === tool && call.inputHash === hash && tookEffect(call));
  const found = told ?? (await store.findRepeated(key, { tool, inputHash: hash, live: liveAndAfter(live) }));
  if (!found) return undefined;
  const { session, seq, callId, at } = found;
  return { session, seq, callId, at, outcome: 'outcome' in found ? found.outcome : found.status };
};

/**
 * Returns an earlier call that this call would repeat: same tool and input, took effect or may have, and not on the
 * session's live lineage. A subagent's session also asks the session that it works for. Searches sessions that the
 * caller does not see too, so show only what `shownRepeat` or `loggedRepeat` returns.
 */
export const findRepeat = async (
  given: LogAccess & Pick<SightAccess, 'whole'>,
  key: SessionKey,
  fold: SessionFold,
  call: { readonly tool: string; readonly input: Json },
): Promise<FoundCall | undefined> => {
  const scope = seeingAll(given);
  let [at, here] = [fold, key];
  for (let depth = 0; ; depth++) {
    const found = await repeatIn(scope, here, at, call);
    if (found || !at.calledBy || depth === maxDepth) return found;
    here = keyOf(scope, at.calledBy.session);
    at = await scope.folds.head(here);
  }
};

const withoutPlace = ({ outcome }: EarlierCall): EarlierCall => ({ outcome });

/** The earlier call as the caller may know it: without its place, if the caller does not see that session. */
export const shownRepeat = async (
  scope: Pick<LogAccess, 'workspace'> & Pick<SightAccess, 'seesByReach'>,
  earlier: EarlierCall,
): Promise<EarlierCall> =>
  earlier.session === undefined || (await scope.seesByReach(keyOf(scope, earlier.session)))
    ? earlier
    : withoutPlace(earlier);

/** The earlier call as the log of `key` may name it: without its place, unless all who see the log see that session. */
export const loggedRepeat = async (
  { store, workspace }: LogAccess,
  key: SessionKey,
  earlier: FoundCall,
): Promise<EarlierCall> => {
  const { session } = earlier;
  if (session === key.session) return earlier;
  const [here, there] = await Promise.all([store.head(key), store.head({ workspace, session })]);
  const viewers = there ? viewersOf(there.summary) : [];
  return here && viewersOf(here.summary).every((name) => viewers.includes(name)) ? earlier : withoutPlace(earlier);
};

const moment = (at: number): string => new Date(at).toISOString();

/** Names the earlier call for a person or a model. */
export const earlierCallText = ({ session, callId, outcome, at }: EarlierCall): string => {
  const end = outcome === 'ok' ? 'succeeded' : `has the outcome ${outcome}, so it may have taken effect`;
  const where =
    at === undefined || !session
      ? 'in a session that is not visible here'
      : `at ${moment(at)} in ${session} (${callId})`;
  return `the same call was made ${where} and ${end}`;
};
