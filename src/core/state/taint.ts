import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { TaintReport } from '../../schema/taint.ts';
import { execute } from '../engine/execute.ts';
import type { LogAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { taintOf } from '../session/taint-fold.ts';

const Options = z.strictObject({
  /** Why the content can be trusted. The log and the audit log keep it. */
  reason: Text.min(1).max(2000),
  /** Whether the files that were written in the tainted context can be trusted too. */
  files: z.boolean().optional(),
  /** The newest event that the approver has looked at. Fails with CONFLICT if data from outside came after it. */
  at: z.int().positive().optional(),
});
export type ClearTaintOptions = z.input<typeof Options>;

/** What taints a session now. */
export const readTaint = async (scope: LogAccess, key: SessionKey): Promise<TaintReport> => {
  const { seq, taint } = await scope.folds.head(key);
  const { files, allowed, cleared } = taint;
  const names = Object.fromEntries(Object.entries(allowed).map(([tool, sources]) => [tool, [...sources]]));
  return {
    tainted: taint.sources.length > 0,
    seq,
    ...taintOf(taint),
    files,
    allowed: names,
    ...(cleared && { cleared }),
  };
};

/** Clears the taint of a session. Returns what tainted it. */
export const clearTaint = async (
  scope: WriteAccess,
  key: SessionKey,
  options: ClearTaintOptions,
): Promise<TaintReport> => {
  const { reason, files, at } = parseInput('the options', Options, options);
  const before = await readTaint(scope, key);
  await execute(scope, key, { type: 'clearTaint', reason, at: at ?? before.seq, ...(files && { files }) });
  return before;
};
