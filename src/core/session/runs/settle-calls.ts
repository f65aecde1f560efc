import type { EventDraft } from '../../../schema/event.ts';
import { type Actor, newId, type RunId, systemActor } from '../../../schema/ids.ts';
import type { ToolOutcome, ToolResultPart } from '../../../schema/message.ts';
import type { RunningCall, SessionFold } from '../fold.ts';

interface Settlement {
  readonly outcome: Exclude<ToolOutcome, 'ok'>;
  /** The text that the model receives. */
  readonly text: string;
  readonly run?: RunId | undefined;
}

export const interruptedCalls: Settlement = {
  outcome: 'interrupted',
  text: 'The call was interrupted; whether it took effect is not known.',
};

/** What a model must know about a call that has begun and whose end nobody recorded. */
export const unknownOutcome = (effects: RunningCall['effects'] = 'once'): string =>
  effects === 'none'
    ? 'The call was interrupted before its result was recorded. It has no effects, so it can be repeated.'
    : 'The call was interrupted; whether it took effect is not known. Check before you repeat it.';

/** Ends a call that a loop outside Perdure left in flight. */
export const endLeftCall = (
  fold: SessionFold,
  callId: string,
  { tool, at, effects }: RunningCall,
  now: number,
): EventDraft => ({
  type: 'tool.failed',
  payload: {
    callId,
    tool,
    outcome: 'interrupted',
    error: { name: 'Interrupted', message: unknownOutcome(effects) },
    durationMs: Math.max(0, now - at),
  },
  actor: `tool:${tool}` as Actor,
  turn: fold.turn,
});

/** Ends all running calls, so that every call in the log has an outcome. */
export const endRunningCalls = (
  fold: SessionFold,
  { outcome, text, run }: Settlement,
  now: number,
): readonly EventDraft[] =>
  Object.entries(fold.runningCalls).map(([callId, { tool, at }]) => ({
    type: 'tool.failed',
    payload: { callId, tool, outcome, error: { name: outcome, message: text }, durationMs: Math.max(0, now - at) },
    actor: `tool:${tool}` as Actor,
    turn: fold.turn,
    run,
  }));

/** Returns a result for every call that will never get its own, so that every context has a result for each call. */
export const settleOpenCalls = (
  { openCalls, turn }: SessionFold,
  { outcome, text, run }: Settlement = interruptedCalls,
): readonly EventDraft<'message.appended'>[] => {
  const results = Object.entries(openCalls).map(
    ([callId, { tool }]): ToolResultPart => ({ type: 'tool-result', callId, tool, outcome, output: text }),
  );
  if (results.length === 0) return [];
  const message = { id: newId('msg'), role: 'tool' as const, content: results };
  return [{ type: 'message.appended', payload: { message }, actor: systemActor, turn, run }];
};
