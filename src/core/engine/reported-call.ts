import type { Json } from '../../schema/json.ts';
import type { ToolOutcome } from '../../schema/message.ts';
import type { CallRecord } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { keyOf, type LogAccess } from './scope.ts';

/** Contents of a call that a loop only reported by its messages, with the seq of the message that has each. */
export interface ReportedContents {
  readonly input?: { readonly value: Json; readonly seq: number };
  readonly result?: { readonly outcome: ToolOutcome; readonly output: Json; readonly seq: number };
}

const pageSize = 32;
/** A call whose message is further back stays without input. */
const maxBack = 1024;

/** Searches backward from the record of the call for the messages that have its input and its result. */
export const readReportedCall = async (
  scope: LogAccess,
  { session, seq, callId, tool }: Pick<CallRecord, 'session' | 'seq' | 'callId' | 'tool'>,
): Promise<ReportedContents> => {
  let found: ReportedContents = {};
  const first = Math.max(0, seq - maxBack);
  try {
    for (let upTo = seq - 1; upTo > first; upTo -= pageSize) {
      const after = Math.max(first, upTo - pageSize);
      const page = await scope.store.read(keyOf(scope, session), { after, upTo, limit: pageSize });
      for (const stored of page.toReversed()) {
        if (stored.type !== 'message.appended') continue;
        const event = decodeEvent(scope.workspace, stored);
        if (event.type !== 'message.appended') continue;
        for (const part of event.payload.message.content) {
          if (typeof part === 'string' || !('callId' in part) || part.callId !== callId || part.tool !== tool) continue;
          if (part.type === 'tool-call') return { ...found, input: { value: part.input, seq: event.seq } };
          found = { result: { outcome: part.outcome, output: part.output, seq: event.seq }, ...found };
        }
      }
    }
  } catch (error) {
    if (!isSessionDamage(error)) throw error;
  }
  return found;
};
