import type { ToolOutcome } from '../../schema/message.ts';
import type { Provenance } from '../../schema/state.ts';
import { segmentsOfPointer } from '../../schema/state.ts';
import type { StoredEvent } from '../ports/store.ts';
import { decodePayload } from './event-codec.ts';

/** One path that a commit touched, to find it by. */
export interface CommitPath {
  readonly path: string;
  readonly provenance: Provenance;
  readonly tool: string | undefined;
  readonly callId: string | undefined;
}

/** What an event tells about a tool call: that it was made, or how it ended. */
export type CallChange =
  | { readonly kind: 'called'; readonly callId: string; readonly tool: string; readonly inputHash: string }
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

/** The rows that a store keeps beside an event, so that questions about commits and calls read no log. Pure: they can be made anew. */
export const project = (event: StoredEvent): Projection => {
  // What cannot be read is told by whoever reads the log; here it must not keep an import or a rebuilding from going on.
  if (event.body.kind !== 'bytes') return nothing;
  switch (event.type) {
    case 'state.committed': {
      const { delta, provenance, cause, origin } = decodePayload(event, event.type);
      const paths =
        origin?.kind === 'lift' ? origin.paths : delta.flatMap(({ op, path }) => (op === 'test' ? [] : [path]));
      return {
        paths: [...new Set(paths)].map((path) => ({ path, provenance, tool: cause?.tool, callId: cause?.callId })),
      };
    }
    case 'tool.called': {
      const { callId, tool, inputHash } = decodePayload(event, event.type);
      return { paths: [], call: { kind: 'called', callId, tool, inputHash } };
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

/**
 * A pattern is a JSON Pointer with `*` for any one segment and `**` at its end for any below. It matches what stands there, above it and
 * below it: who asks for `/plan/a` is told of `/plan/a/status`, and who asks for that is told that `/plan/a` was replaced.
 */
export const matchesPattern = (pattern: string, path: string): boolean => {
  const found = segmentsOfPointer(path);
  return segmentsOfPointer(pattern.replace(/\/\*\*$/, ''))
    .slice(0, found.length)
    .every((segment, index) => segment === '*' || segment === found[index]);
};

/** What an index can look up of a pattern: its first two segments, as far as they hold no wildcard. */
export const indexedPrefix = (pattern: string): string => {
  const segments = pattern.split('/').slice(1, 3);
  const wildcard = segments.findIndex((segment) => segment === '*' || segment === '**');
  return wildcard < 0 ? `/${segments.join('/')}` : `/${segments.slice(0, wildcard).join('/')}`;
};
