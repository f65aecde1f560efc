import { newId } from '../../schema/ids.ts';
import { ToolCallId } from '../../schema/message.ts';
import type { SessionKey } from '../ports/store.ts';
import { asJson } from '../session/as-json.ts';
import { type Call, endCommit, endFact, type ToolDeclarations } from '../session/call-events.ts';
import { inputHash } from '../session/input-hash.ts';
import { Journal } from './journal.ts';
import type { Scope } from './scope.ts';
import type { BeginCall } from './tracked-call.ts';

/** A journal of tool calls: each is in the log before it runs, and its outcome after. */
export const journaledCalls = (scope: Scope, key: SessionKey, declarations: ToolDeclarations = {}): BeginCall => {
  const journal = new Journal(scope, key, scope.actor);
  let ending: Promise<unknown> = Promise.resolve();
  /** Outcomes of calls that ran beside each other are written one after another. */
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = ending.then(work, work);
    ending = mine.catch(() => undefined);
    return mine;
  };
  return async ({ tool, ...request }) => {
    const { data: callId = newId('call') } = ToolCallId.safeParse(request.callId);
    const declaration = (Object.hasOwn(declarations, tool) ? declarations[tool] : undefined) ?? {};
    const call: Call = { tool, callId, input: asJson(request.input) };
    await inOrder(async () => {
      const fold = await journal.fold();
      const payload = { callId, tool, input: call.input, inputHash: inputHash(fold.inputKey, call.input) };
      await journal.begin([{ type: 'tool.called', payload, actor: scope.actor, turn: 'current' }]);
    });
    const startedAt = performance.now();
    return (ended) => {
      const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
      return inOrder(() =>
        journal.end(
          (fold) => endFact(fold, call, declaration, ended, { durationMs }),
          (fold) => endCommit(fold, call, declaration, ended, scope.agents),
        ),
      );
    };
  };
};
