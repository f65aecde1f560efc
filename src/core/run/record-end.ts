import type { EventDraft } from '../../schema/event.ts';
import { type Actor, newId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { ToolResultPart } from '../../schema/message.ts';
import { asJson } from '../session/as-json.ts';
import type { CallEnd } from '../session/call-end.ts';
import { type Call, endCommit, endFact } from '../session/call-events.ts';
import { shownToModel } from '../session/shown-output.ts';
import type { RunContext } from './run-context.ts';

const resultMessage = (call: Call, end: CallEnd, seq: number, problem?: string): EventDraft => {
  const text = end.outcome === 'ok' ? shownToModel(asJson(end.output), seq) : end.error.message;
  const part: ToolResultPart = {
    type: 'tool-result',
    callId: call.callId,
    tool: call.tool,
    outcome: end.outcome,
    output: problem ? { output: text, problem } : text,
  };
  const message = { id: newId('msg'), role: 'tool' as const, content: [part] };
  return { type: 'message.appended', payload: { message }, actor: `tool:${call.tool}` as Actor, turn: 'current' };
};

interface About {
  readonly durationMs: number;
  readonly keeps?: Json | undefined;
}

/** The outcome, what the model is told of it unless a person did so, and what it changed, in one. What cannot be committed is said and does not lose the rest. */
export const recordEnd = async (
  run: RunContext,
  call: Call,
  end: CallEnd,
  about: About,
  also?: EventDraft,
): Promise<void> => {
  const declaration = run.tools.get(call.tool) ?? {};
  await run.writer.decide((fold) => {
    let change: EventDraft | undefined;
    let problem: string | undefined;
    try {
      change = endCommit(fold, call, declaration, end, run.scope.agents);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    const drafts = [
      ...(also ? [also] : []),
      endFact(fold, call, declaration, end, about),
      ...(fold.openCalls[call.callId] ? [resultMessage(call, end, fold.seq + (also ? 2 : 1), problem)] : []),
      ...(change ? [change] : []),
    ];
    return drafts.map((draft) => ({ ...draft, run: run.run }));
  });
};
