import type { ResultSource, ToolOutcome } from '../../schema/message.ts';
import type { Charge } from '../ports/charges.ts';
import type { CallRecord, StoredEvent } from '../ports/store.ts';
import { chargeOf } from './charge-of.ts';
import { decodePayload } from './events/event-codec.ts';
import { type TouchedPath, touchedPaths } from './state/touched-paths.ts';

/** A path that a commit touched. Queries find the commit by this path. */
export interface CommitPath extends TouchedPath {
  readonly tool: string | undefined;
}

/** What an event says about a tool call: that it began, or how it ended. */
export type CallChange =
  | ({ readonly kind: 'called' } & Pick<CallRecord, 'callId' | 'tool' | 'inputHash' | 'effects' | 'confined'>)
  /** A call of a loop outside Perdure, which is known only with its end. */
  | {
      readonly kind: 'reported';
      readonly callId: string;
      readonly tool: string;
      readonly inputHash: string;
      readonly outcome: ToolOutcome;
      readonly outputHash: string | undefined;
    }
  | {
      readonly kind: 'ended';
      readonly callId: string;
      readonly outcome: ToolOutcome;
      readonly outputHash: string | undefined;
      readonly durationMs: number;
      readonly source?: ResultSource | undefined;
    };

export interface Projection {
  readonly paths: readonly CommitPath[];
  readonly call?: CallChange;
  readonly charge?: Charge;
}

const nothing: Projection = { paths: [] };

/**
 * The rows that a store keeps beside an event, so that queries for commits, calls and usage need not read logs. This is a
 * pure function, so that the rows can be rebuilt.
 */
export const project = (event: StoredEvent): Projection => {
  switch (event.type) {
    case 'state.committed': {
      const commit = decodePayload(event, event.type);
      return { paths: touchedPaths(commit).map((touched) => ({ ...touched, tool: commit.cause?.tool })) };
    }
    case 'tool.called': {
      const { callId, tool, inputHash, effects, confined } = decodePayload(event, event.type);
      return { paths: [], call: { kind: 'called', callId, tool, inputHash, effects, confined } };
    }
    case 'call.reported': {
      const { callId, tool, inputHash, outcome, outputHash } = decodePayload(event, event.type);
      return { paths: [], call: { kind: 'reported', callId, tool, inputHash, outcome, outputHash } };
    }
    case 'tool.completed': {
      const { callId, outputHash, durationMs, source } = decodePayload(event, event.type);
      return { paths: [], call: { kind: 'ended', callId, outcome: 'ok', outputHash, durationMs, source } };
    }
    case 'tool.failed': {
      const { callId, outcome, durationMs, source } = decodePayload(event, event.type);
      return { paths: [], call: { kind: 'ended', callId, outcome, outputHash: undefined, durationMs, source } };
    }
    case 'model.completed':
    case 'model.failed':
    case 'message.abandoned':
    case 'child.ended': {
      const charge = chargeOf(event);
      return charge ? { paths: [], charge } : nothing;
    }
    default:
      return nothing;
  }
};
