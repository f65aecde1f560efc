import { PerdureError } from '../../schema/error.ts';
import { taintText } from '../../schema/taint-text.ts';
import type { ToolDeclaration } from '../session/events/call-events.ts';
import type { SessionFold } from '../session/fold.ts';
import { taintBefore } from '../session/taint-fold.ts';

type Declared = { readonly [Name in 'effects' | 'safeWhenTainted']?: ToolDeclaration[Name] | undefined };

/**
 * Throws before a `once` tool runs in a tainted session. A loop outside Perdure cannot wait for an approval, so it asks a
 * person itself, who clears the taint. A call that the model asked for before the taint may run.
 */
export const refuseTainted = (
  { taint, openCalls, session }: SessionFold,
  { effects = 'once', safeWhenTainted }: Declared,
  { tool, callId }: { readonly tool: string; readonly callId: string },
): void => {
  if (effects !== 'once' || safeWhenTainted) return;
  const asked = Object.hasOwn(openCalls, callId) ? openCalls[callId]!.seq : Number.POSITIVE_INFINITY;
  const taintedBy = taintBefore(taint, asked);
  if (taintedBy.sources.length === 0) return;
  throw new PerdureError(
    'CALL_TAINTED',
    `${tool} was not run: data from outside is in ${session} (${taintText(taintedBy)}), which may have asked for it; ask a person, and clear the taint with clearTaint, or declare \`safeWhenTainted: true\` for ${tool} if no input can do harm`,
    { details: { tool, taintedBy } },
  );
};
