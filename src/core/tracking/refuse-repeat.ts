import { PerdureError } from '../../schema/error.ts';
import type { Json } from '../../schema/json.ts';
import { earlierCallText, findRepeat, shownRepeat } from '../engine/repeated-call.ts';
import type { LogAccess, SightAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { ToolDeclaration } from '../session/events/call-events.ts';
import type { SessionFold } from '../session/fold.ts';

/**
 * Throws before a `once` tool would repeat an earlier call outside the session's live lineage. A loop outside
 * Perdure cannot wait for an approval, so `ask` refuses too, and the loop asks a person itself. A tool without declared
 * effects counts as `once`.
 */
export const refuseRepeat = async (
  scope: LogAccess & Pick<SightAccess, 'whole' | 'seesByReach'>,
  key: SessionKey,
  fold: SessionFold,
  { effects = 'once', repeat = 'ask' }: { readonly [Name in 'effects' | 'repeat']?: ToolDeclaration[Name] | undefined },
  call: { readonly tool: string; readonly input: Json },
): Promise<void> => {
  if (effects !== 'once' || repeat === 'allow') return;
  const found = await findRepeat(scope, key, fold, call);
  if (!found) return;
  const earlier = await shownRepeat(scope, found);
  const advice =
    repeat === 'deny'
      ? `${call.tool} must not run twice with the same input`
      : `ask a person, and if it may run a second time, declare \`repeat: 'allow'\` for ${call.tool}, or \`effects: 'none'\` if it has no effects`;
  throw new PerdureError('CALL_REPEATED', `${call.tool} was not run: ${earlierCallText(earlier)}; ${advice}`, {
    details: { tool: call.tool, earlier },
  });
};
