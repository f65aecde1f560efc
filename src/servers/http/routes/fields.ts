import { z } from 'zod';
import { ApprovalId, MemberId, RunId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { Holder, Status } from '../../../schema/lifecycle.ts';
import { ToolCallId } from '../../../schema/message.ts';
import { PointText } from '../../../schema/place.ts';
import { runStatuses } from '../../../schema/statuses.ts';

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

/** An object of scalars as JSON text. */
const JsonObjectText = Text.max(4096).transform((text, context): Record<string, string | number | boolean | null> => {
  try {
    return z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).parse(JSON.parse(text));
  } catch {
    context.addIssue({ code: 'custom', message: 'expected a JSON object of texts, numbers, booleans and null' });
    return z.NEVER;
  }
});

/** The page of a listing. */
export const pageQuery = { limit: limitUpTo(1000).optional(), cursor: z.string().max(200).optional() };

/** Query of the session listing. */
export const sessionPage = {
  includePrivate: Flag.meta({ description: 'Also private sessions of others: for admins, and audited.' }).optional(),
  status: z.array(Status).optional(),
  agent: Text.min(1).max(100).meta({ description: 'Only sessions that are bound to this agent.' }).optional(),
  member: MemberId.meta({ description: 'Only sessions that this member owns.' }).optional(),
  holder: Holder.meta({ description: 'Only sessions that the agent, or a person, holds.' }).optional(),
  runStatus: z
    .array(z.enum(runStatuses))
    .meta({ description: 'Only sessions whose current or last run has one of these statuses.' })
    .optional(),
  metadata: JsonObjectText.meta({
    type: 'string',
    description: 'Values that the metadata must have: an object as JSON, with texts, numbers, booleans and null.',
  }).optional(),
  since: timeText('Not changed before'),
  until: timeText('Not changed after'),
  idPart: z
    .string()
    .max(60)
    .meta({ description: 'The beginning of the ids, or at least their last 4 characters.' })
    .optional(),
  ...pageQuery,
  by: z.enum(['change', 'id']).optional(),
};

/** Query of a listing of runs. */
export const runPage = {
  status: z.array(z.enum(runStatuses)).optional(),
  since: timeText('Not before'),
  until: timeText('Not after'),
  ...pageQuery,
};

export const atPoint = { at: PointText.optional() };

/** Request bodies. */
export const withReason = z.strictObject({ reason: Text.max(2000).optional() });
/** Body of an answer to an approval. The model receives the comment. */
export const withComment = z.strictObject({ comment: Text.max(2000).optional() });
export const nothing = z.strictObject({});
