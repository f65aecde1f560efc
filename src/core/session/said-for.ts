import type { SaidRef } from '../../schema/said.ts';
import type { SessionFold } from './fold.ts';

/** The message that asked for a call. Undefined if the log has no such message yet. */
export const saidFor = (
  { openCalls, runningCalls }: Pick<SessionFold, 'openCalls' | 'runningCalls'>,
  { callId, tool }: { readonly callId: string; readonly tool: string },
): SaidRef | undefined => {
  const running = Object.hasOwn(runningCalls, callId) ? runningCalls[callId] : undefined;
  if (running?.said) return running.said;
  const open = Object.hasOwn(openCalls, callId) ? openCalls[callId] : undefined;
  return open?.tool === tool ? { message: open.message, seq: open.seq } : undefined;
};
