import { z } from 'zod';
import { listOf } from './bounded.ts';
import { Actor, SessionId } from './ids.ts';
import { Text } from './json.ts';

/** The maximum number of tools that a list of sources names. */
export const maxTaintSources = 20;
/** The maximum number of paths that a session remembers as written in a tainted context. */
export const maxTaintedPaths = 200;

/** The name of the source for content of a bundle. */
export const importSource = 'import';

/** What brought data from outside into a context: the first result of a tool, or the description of one. */
export const TaintSource = z
  .strictObject({
    tool: Text.max(200),
    session: SessionId.optional().describe('The session of the result. Absent for the description of a tool.'),
    seq: z.int().positive().optional().describe('The event of the result.'),
    turn: z.int().nonnegative().optional(),
    callId: Text.max(200).optional(),
  })
  .meta({ id: 'TaintSource' });
export type TaintSource = z.infer<typeof TaintSource>;

/** Sources, one for each tool, oldest first. `more` counts further results. */
export const Taint = z
  .strictObject({ sources: listOf(TaintSource, { max: maxTaintSources }), more: z.int().nonnegative() })
  .meta({ id: 'Taint' });
export type Taint = z.infer<typeof Taint>;

/** The files that were written in a tainted context. A path that ends in `/` names everything below it. */
export const TaintedFiles = z
  .strictObject({
    paths: listOf(Text, { max: maxTaintedPaths }),
    all: z.literal(true).optional().describe('Set if every file counts as written in a tainted context.'),
  })
  .meta({ id: 'TaintedFiles' });
export type TaintedFiles = z.infer<typeof TaintedFiles>;

/** The taint of a session: what brought it, which files carry it on, and what approvers decided about it. */
export const TaintReport = z
  .strictObject({
    tainted: z.boolean(),
    seq: z.int().describe('The newest event of the session. Pass it as `at` when you clear the taint.'),
    ...Taint.shape,
    files: TaintedFiles,
    allowed: z
      .record(z.string(), z.array(z.string()))
      .describe('The tools that an approver allowed for sources, with the names of the sources.'),
    cleared: z.strictObject({ by: Actor, at: z.int(), reason: z.string() }).optional(),
  })
  .meta({ id: 'TaintReport' });
export type TaintReport = z.infer<typeof TaintReport>;
