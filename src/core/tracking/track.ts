import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { newId } from '../../schema/ids.ts';
import { ToolCallId } from '../../schema/message.ts';
import type { AgentAccess, WarningAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { asJson } from '../session/events/as-json.ts';
import { type Call, endCommit, endFact, type ToolDeclarations } from '../session/events/call-events.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { toldEnd } from '../session/runs/call-end.ts';
import { Journal } from './journal.ts';
import { refuseRepeat } from './refuse-repeat.ts';
import type { BeginCall } from './tracked-call.ts';

type CalledOn = (state: SessionFold) => EventDraft;

const isFenced = (error: unknown): boolean => error instanceof PerdureError && error.code === 'FENCED';

/**
 * Journals the calls of a set of tools. All sets of one handle share its journal, so that they can be used in
 * parallel.
 */
export type TrackCalls = (declarations?: ToolDeclarations) => BeginCall;

export const callTracking = (scope: WriteAccess & AgentAccess & WarningAccess, key: SessionKey): TrackCalls => {
  let shared = new Journal(scope, key);

  /**
   * Returns the journal for a set of tools. The first call of a set joins the existing journal. If that journal is
   * fenced, the call starts a new one, because tracking again takes over the session.
   */
  const join = async (calledOn: CalledOn): Promise<Journal> => {
    const known = shared;
    try {
      await known.begin(calledOn);
      return known;
    } catch (error) {
      if (!isFenced(error)) throw error;
    }
    if (shared === known) shared = new Journal(scope, key);
    const renewed = shared;
    await renewed.begin(calledOn);
    return renewed;
  };

  return (declarations = {}) => {
    let joined: Journal | undefined;
    const begin = async (calledOn: CalledOn): Promise<Journal> => {
      if (!joined) return join(calledOn);
      await joined.begin(calledOn);
      return joined;
    };
    return async ({ tool, ...request }) => {
      const { data: given = newId('call') } = ToolCallId.safeParse(request.callId);
      const declaration = (Object.hasOwn(declarations, tool) ? declarations[tool] : undefined) ?? {};
      const input = asJson(request.input, await scope.secrets.redactor());
      await refuseRepeat(scope, key, declaration, { tool, input });
      let callId = given;
      const journal = await begin(({ inputKey, runningCalls }) => {
        callId = Object.hasOwn(runningCalls, given) ? newId('call') : given;
        const { effects } = declaration;
        const payload = { callId, tool, input, inputHash: inputHash(inputKey, input), effects };
        return { type: 'tool.called', payload, actor: scope.actor, turn: 'current' };
      });
      const call: Call = { tool, callId, input };
      joined ??= journal;
      const startedAt = scope.clock.elapsed();
      return async (ended) => {
        const durationMs = Math.round((scope.clock.elapsed() - startedAt) * 1000) / 1000;
        try {
          const { agents } = scope;
          const redactor = await scope.secrets.redactor();
          const redacted = toldEnd(ended, redactor);
          await journal.end(
            (fold) => endFact(fold, call, declaration, redacted, { durationMs }),
            (fold) => endCommit(fold, call, declaration, ended, { agents, redactor }),
          );
        } catch (problem) {
          scope.onWarning(problem);
        }
      };
    };
  };
};
