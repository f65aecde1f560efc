import { z } from 'zod';
import { bounded } from './bounded.ts';
import { Text } from './json.ts';
import { ToolCallId } from './message.ts';

const maxPaths = 1000;

/** The files that a call changed, by path. */
export const ChangedPaths = bounded(z.record(Text.min(1).max(4096), z.enum(['created', 'modified', 'deleted']))).refine(
  (paths) => Object.keys(paths).length <= maxPaths,
  { error: `expected at most ${maxPaths} paths` },
);
export type ChangedPaths = z.infer<typeof ChangedPaths>;

/** The files that each call of a loop changed, by the id of the call. */
export const ReportedFiles = bounded(z.record(ToolCallId, ChangedPaths));
export type ReportedFiles = z.infer<typeof ReportedFiles>;
