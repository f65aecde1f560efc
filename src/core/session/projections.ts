import type { ToolOutcome } from '../../schema/message.ts';
import type { CallRecord, StoredEvent } from '../ports/store.ts';
import { decodePayload } from './events/event-codec.ts';
import { type TouchedPath, touchedPaths } from './state/touched-paths.ts';

/** A path that a commit touched. Queries find the commit by this path. */
export interface CommitPath extends TouchedPath {
  readonly tool: string | undefined;
}

/** What an event says about a tool call: that it began, or how it ended. */
export type CallChange =
  | ({ readonly kind: 'called' } & Pick<CallRecord, 'callId' | 'tool' | 'inputHash' | 'effects' | 'confined'>)
  | {
      readonly kind: 'ended';
      readonly callId: string;
      readonly outcome: ToolOutcome;
      readonly outputHash: string | undefined;
      readonly durationMs: number;
    };

export interface Projection {
  readonly paths: readonly CommitPath[];
  readonly call?: CallChange;
}

const nothing: Projection = { paths: [] };

/**
 * The rows that a store keeps beside an event, so that queries for commits and calls need not read logs. This is a
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
    case 'tool.completed': {
      const { callId, outputHash, durationMs } = decodePayload(event, event.type);
      return { paths: [], call: { kind: 'ended', callId, outcome: 'ok', outputHash, durationMs } };
    }
    case 'tool.failed': {
      const { callId, outcome, durationMs } = decodePayload(event, event.type);
      return { paths: [], call: { kind: 'ended', callId, outcome, outputHash: undefined, durationMs } };
    }
    default:
      return nothing;
  }
};
