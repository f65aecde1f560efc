import { z } from 'zod';
import { ApprovalId, RunId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { Status } from '../../../schema/lifecycle.ts';
import { ToolCallId } from '../../../schema/message.ts';
import { PointText } from '../../../schema/place.ts';
import { runStatuses } from '../../../schema/run-record.ts';

/** Path parameters. */
export const inRun = { run: RunId };
export const ofApproval = { approval: ApprovalId };
export const ofCall = { call: ToolCallId };

/** A number in a query, where parameters are strings. */
const digits = z.string().regex(/^\d{1,15}$/, { error: 'expected a whole number' });
export const Whole = digits.transform(Number).meta({ type: 'integer', minimum: 0 });
/** One end of a time range. */
export const timeText = (edge: string) =>
  Whole.meta({ description: `${edge} this time, in milliseconds since 1970.` }).optional();
export const Positive = digits
  .transform(Number)
  .refine((number) => number > 0, { error: 'expected a whole number of at least 1' })
  .meta({ type: 'integer', minimum: 1 });
export const Flag = z.enum(['true', 'false']).transform((text) => text === 'true');
export const limitUpTo = (most: number) =>
  Positive.refine((number) => number <= most, { error: `expected at most ${most}` }).meta({
    type: 'integer',
    minimum: 1,
    maximum: most,
  });
export const Path = Text.min(1).max(4096);

/** Query of the session listing. */
export const sessionPage = {
  status: z.array(Status).optional(),
  limit: limitUpTo(1000).optional(),
  cursor: z.string().max(200).optional(),
  by: z.enum(['change', 'id']).optional(),
};

/** Query of a listing of runs. */
export const runPage = {
  status: z.array(z.enum(runStatuses)).optional(),
  since: timeText('Not before'),
  until: timeText('Not after'),
  limit: limitUpTo(1000).optional(),
  cursor: z.string().max(200).optional(),
};

export const atPoint = { at: PointText.optional() };

/** Request bodies. */
export const withReason = z.strictObject({ reason: Text.max(2000).optional() });
/** Body of an answer to an approval. The model receives the comment. */
export const withComment = z.strictObject({ comment: Text.max(2000).optional() });
export const nothing = z.strictObject({});
