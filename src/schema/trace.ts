import { z } from 'zod';
import { SessionId } from './ids.ts';
import { Provenance } from './state.ts';

/** What a node of a trace stands for. `session` is a session of which nothing more can be shown. */
export const traceKinds = [
  'entry',
  'commit',
  'file',
  'message',
  'result',
  'approval',
  'compaction',
  'event',
  'session',
] as const;

/** Why a node rests on another. */
export const traceReasons = [
  'set',
  'derivedFrom',
  'cause',
  'said',
  'reads',
  'approved',
  'carried',
  'adopted',
  'reverted',
  'compacted',
] as const;
export type TraceReason = (typeof traceReasons)[number];

export const TraceNode = z.strictObject({
  id: z.string(),
  kind: z.enum(traceKinds),
  session: SessionId,
  seq: z.int().optional(),
  turn: z.int().optional(),
  at: z.int().optional(),
  actor: z.string().optional(),
  tool: z.string().optional(),
  provenance: Provenance.optional(),
  /** One line that quotes the beginning of what the node stands for. */
  text: z.string(),
  /** `more` if the trace was not followed further here, `damaged` or `hidden` if it cannot be. */
  note: z.enum(['more', 'damaged', 'hidden']).optional(),
});
export type TraceNode = z.infer<typeof TraceNode>;

/** The node `from` rests on the node `to`. */
export const TraceEdge = z.strictObject({ from: z.string(), to: z.string(), reason: z.enum(traceReasons) });
export type TraceEdge = z.infer<typeof TraceEdge>;

/** What an entry rests on, and what rests on it. */
export const Trace = z
  .strictObject({
    /** The id of the node that the trace starts at. */
    root: z.string(),
    nodes: z.array(TraceNode),
    edges: z.array(TraceEdge),
    /** Whether the trace reached everything. Otherwise nodes say where it was not followed further. */
    isComplete: z.boolean(),
  })
  .meta({ id: 'Trace' });
export type Trace = z.infer<typeof Trace>;
