import { z } from 'zod';
import { listOf } from './bounded.ts';
import { MemberId } from './ids.ts';
import { Text } from './json.ts';

const Count = z.int().nonnegative();
const Usd = z.number().nonnegative().max(1e9);
const Names = listOf(Text.min(1).max(200), { max: 1000 });

/** What a workspace or a member may use. An absent field does not limit. */
export const QuotaLimits = z
  .strictObject({
    sessions: Count.optional().describe('How many sessions may exist that are not archived.'),
    bytes: Count.optional().describe('How many bytes the logs of the sessions may have.'),
    streams: Count.optional().describe('How many streams and waits may be open at a server.'),
    runs: Count.optional().describe('How many runs may be admitted or at work at once.'),
    tokensPerDay: Count.optional().describe('Tokens in and out together, per day of UTC.'),
    tokensPerMonth: Count.optional().describe('Tokens in and out together, per month of UTC.'),
    usdPerDay: Usd.optional().describe('The cost of models, per day of UTC.'),
    usdPerMonth: Usd.optional().describe('The cost of models, per month of UTC.'),
    agents: Names.optional().describe('The agents that may be used, by name.'),
    models: Names.optional().describe('The models that may be used, such as `anthropic/claude-sonnet-5-5`.'),
  })
  .meta({ id: 'QuotaLimits' });
export type QuotaLimits = z.infer<typeof QuotaLimits>;

/** A quota: of the workspace as a whole, of each member by default, or of one member. */
export const Quota = z
  .strictObject({
    of: z.enum(['workspace', 'members', 'member']),
    member: MemberId.optional().describe('Set for the quota of one member.'),
    limits: QuotaLimits,
    changedAt: z.int(),
  })
  .meta({ id: 'Quota' });
export type Quota = z.infer<typeof Quota>;

/** What is used of each countable limit, with what model requests in flight have reserved. */
export const QuotaUse = z
  .strictObject({
    member: Text.optional().describe('Absent for the workspace as a whole.'),
    sessions: Count,
    bytes: Count,
    runs: Count,
    tokensPerDay: Count,
    tokensPerMonth: Count,
    usdPerDay: z.number(),
    usdPerMonth: z.number(),
  })
  .meta({ id: 'QuotaUse' });
export type QuotaUse = z.infer<typeof QuotaUse>;

export const QuotaReport = z.strictObject({ quotas: z.array(Quota), used: z.array(QuotaUse) });
export type QuotaReport = z.infer<typeof QuotaReport>;

/** The limits that apply to one member, and what the member has used. */
export const OwnQuota = z.strictObject({ limits: QuotaLimits, used: QuotaUse });
export type OwnQuota = z.infer<typeof OwnQuota>;
