import { newId } from '../../schema/ids.ts';
import { ToolCallId } from '../../schema/message.ts';
import type { SessionKey } from '../ports/store.ts';
import { asJson } from '../session/events/as-json.ts';
import type { Call } from '../session/events/call-events.ts';
import { inputHash } from '../session/events/input-hash.ts';
import { saidFor } from '../session/said-for.ts';
import { checkDeclarations, declarationOf, type TrackDeclarations } from './declaration.ts';
import { Journal } from './journal.ts';
import { refuseRepeat } from './refuse-repeat.ts';
import { refuseTainted } from './refuse-tainted.ts';
import { journalEnd, type RunTool, settleLeft, type TrackingScope } from './settle-left.ts';
import type { BeginCall } from './tracked-call.ts';

/**
 * Claims the session for a set of tools, settles the calls that earlier loops left in flight, and returns what
 * journals the calls of the set. All sets of one handle share its journal, so that they can be used in parallel.
 */
export type TrackCalls = (
  declarations: TrackDeclarations,
  runTool: RunTool,
  /** Whether these are the tools of a server. */
  isOfServer: boolean,
) => Promise<BeginCall>;

export const callTracking = (scope: TrackingScope, key: SessionKey): TrackCalls => {
  let shared: Promise<Journal> | undefined;

  /** Returns the journal of this handle, or a new one if another writer has claimed the session. */
  const joined = async (): Promise<Journal> => {
    const known = shared;
    const journal = await known?.catch(() => undefined);
    if (journal && (await journal.isCurrent())) return journal;
    if (shared === known) shared = Journal.claim(scope, key);
    return shared!;
  };

  return async (declarations, runTool, isOfServer) => {
    checkDeclarations(declarations);
    const journal = await joined();
    await settleLeft(scope, key, journal, declarations, runTool);
    return async ({ tool, ...request }) => {
      const { data: given = newId('call') } = ToolCallId.safeParse(request.callId);
      const declaration = declarationOf(declarations, tool, isOfServer);
      const { effects = 'once', reconcile, untrusted } = declaration;
      const input = asJson(request.input, await scope.secrets.redactor());
      // What another process brought into the session counts too.
      const fold = await (effects === 'once' ? scope.folds.head(key) : scope.folds.recent(key));
      refuseTainted(fold, declaration, { tool, callId: given });
      await refuseRepeat(scope, key, fold, declaration, { tool, input });
      let callId = given;
      await journal.begin((now) => {
        callId = Object.hasOwn(now.runningCalls, given) ? newId('call') : given;
        const said = saidFor(now, { callId, tool });
        const about = {
          ...(declaration.effects && { effects }),
          ...(reconcile && { reconciles: true as const }),
          ...(untrusted && { untrusted }),
          ...(said && { said }),
        };
        const payload = { callId, tool, input, inputHash: inputHash(now.inputKey, input), ...about };
        return { type: 'tool.called', payload, actor: scope.actor, turn: 'current' };
      });
      const call: Call = { tool, callId, input };
      const startedAt = scope.clock.elapsed();
      return async (ended) => {
        const durationMs = Math.round((scope.clock.elapsed() - startedAt) * 1000) / 1000;
        try {
          await journalEnd(scope, journal, call, declaration, ended, durationMs);
        } catch (problem) {
          scope.onWarning(problem);
        }
      };
    };
  };
};
