import type { EarlierCall } from '../../schema/happened.ts';
import type { Json } from '../../schema/json.ts';
import type { SessionKey } from '../ports/store.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { tookEffect } from '../session/happened.ts';
import { liveAndAfter } from '../session/live-lineage.ts';
import { keyOf, type LogAccess } from './scope.ts';

/** Subagents of subagents are followed to this depth. */
const maxDepth = 8;

const repeatIn = async (
  { store }: LogAccess,
  key: SessionKey,
  { happened, inputKey, live }: SessionFold,
  { tool, input }: { readonly tool: string; readonly input: Json },
): Promise<EarlierCall | undefined> => {
  const hash = inputHash(inputKey, input);
  const told = happened?.calls.findLast((call) => call.tool === tool && call.inputHash === hash && tookEffect(call));
  const found = told ?? (await store.findRepeated(key, { tool, inputHash: hash, live: liveAndAfter(live) }));
  if (!found) return undefined;
  const { session, seq, callId, at } = found;
  return { session, seq, callId, at, outcome: 'outcome' in found ? found.outcome : found.status };
};

/**
 * Returns an earlier call that this call would repeat: same tool and input, took effect or may have, and not on the
 * session's live lineage. A subagent's session also asks the session that it works for.
 */
export const findRepeat = async (
  scope: LogAccess,
  key: SessionKey,
  fold: SessionFold,
  call: { readonly tool: string; readonly input: Json },
): Promise<EarlierCall | undefined> => {
  let [at, here] = [fold, key];
  for (let depth = 0; ; depth++) {
    const found = await repeatIn(scope, here, at, call);
    if (found || !at.calledBy || depth === maxDepth) return found;
    here = keyOf(scope, at.calledBy.session);
    at = await scope.folds.head(here);
  }
};

const moment = (at: number): string => new Date(at).toISOString();

/** Names the earlier call for a person or a model. */
export const earlierCallText = ({ session, callId, outcome, at }: EarlierCall): string => {
  const end = outcome === 'ok' ? 'succeeded' : `has the outcome ${outcome}, so it may have taken effect`;
  return `the same call was made at ${moment(at)} in ${session} (${callId}) and ${end}`;
};
