import { z } from 'zod';
import type { SessionChange } from '../../../core/engine/changes.ts';
import { clockSkewMs } from '../../../core/ports/changed-since.ts';
import { PerdureError } from '../../../schema/error.ts';
import { MemberId, SessionId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { CollectionView, RebuiltView } from '../../../schema/views/maintenance.ts';
import { AgentsView, ApprovalsView } from '../../../schema/views/session.ts';
import { UsageReportView, UsageView, usageGroups } from '../../../schema/views/usage.ts';
import { WorkersView } from '../../../schema/views/worker.ts';
import { defineRoute, type Frame, stream } from '../route.ts';
import { limitUpTo, nothing, ofApproval, timeText, Whole, withComment } from './fields.ts';
import { lastId } from './last-id.ts';
import { defineSessionRoute } from './session-route.ts';

/** Yields hints as frames. A reader that reconnects with the id of its last frame misses no hint. */
async function* hints(
  changes: AsyncIterable<SessionChange>,
  from = Date.now() - clockSkewMs,
): AsyncGenerator<Frame, void, void> {
  yield { id: String(from), event: 'watching', data: {} };
  for await (const { after, ...change } of changes) yield { id: String(after), event: 'changed', data: change };
}

const whoSettles =
  'Beside the role of the route, the rule of the approval itself decides: it names the roles that may answer, by default approver or admin, and may exclude the member who asked for the call.';

export const workspaceRoutes = [
  defineRoute({
    method: 'GET',
    path: '/v1/events',
    name: 'watchWorkspace',
    verb: 'runtime.changes',
    summary: 'Hints about changes in the workspace: {session, head}, at least once',
    query: { after: Whole.optional() },
    answer: stream,
    handle: async ({ runtime, query, headers, events }) => {
      const after = lastId(headers) ?? query.after;
      if (after !== undefined && after > Date.now() + clockSkewMs) {
        throw new PerdureError('INVALID_INPUT', 'after is in the future: give a past time in milliseconds since 1970');
      }
      return events((signal) => hints(runtime.changes({ after, signal }), after));
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/agents',
    name: 'listAgents',
    verb: 'agents.list',
    summary: 'The agents of this server',
    answer: AgentsView,
    handle: async ({ runtime }) => ({ agents: runtime.agents.list() }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/workers',
    name: 'listWorkers',
    verb: 'runtime.workers',
    summary: 'The workers that serve the workspace, with the sessions each one holds',
    answer: WorkersView,
    handle: async ({ runtime }) => ({ workers: [...(await runtime.workers())] }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/usage',
    name: 'reportUsage',
    verb: 'runtime.usage',
    summary: 'What models used, by run, session, agent, model, member, workspace, day or month, with the total',
    about:
      'Each model call counts once in the total. Days and months are those of UTC. A key reads the usage of its own workspace only.',
    query: {
      by: z
        .enum(usageGroups)
        .meta({ description: 'What the calls of a row share, by default the session.' })
        .optional(),
      since: timeText('Not before'),
      until: timeText('Not after'),
      session: SessionId.meta({ description: 'Only calls of this session itself.' }).optional(),
      agent: Text.max(100).meta({ description: 'Only calls of the agent with this name.' }).optional(),
      model: Text.max(200).meta({ description: 'Only calls to this model.' }).optional(),
      member: MemberId.meta({ description: 'Only calls of runs that this member requested.' }).optional(),
      limit: limitUpTo(1000).optional(),
      cursor: z.string().max(300).optional(),
    },
    answer: UsageReportView,
    handle: async ({ runtime, query }) => await runtime.usage(query),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/usage',
    name: 'readUsage',
    verb: 'session.usage',
    summary: 'The usage of the session, and its limits',
    answer: UsageView,
    handle: async ({ session }) => await session.usage(),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/approvals',
    name: 'listApprovals',
    verb: 'approvals.list',
    summary: 'The calls that wait for an approval, and the sessions that people hold',
    answer: ApprovalsView,
    handle: async ({ runtime }) => ({
      approvals: await runtime.approvals.list(),
      handoffs: await runtime.approvals.handoffs(),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/approvals/{approval}/approve',
    name: 'approveCall',
    verb: 'approvals.approve',
    summary: 'Allows the call; the decision is final',
    about: whoSettles,
    params: ofApproval,
    body: withComment.extend({ forSource: z.boolean().optional() }),
    keyKeptBy: 'library',
    answer: z.strictObject({ session: SessionId }),
    handle: async ({ runtime, params, body }) => ({
      session: await runtime.approvals.approve(params.approval, body),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/approvals/{approval}/deny',
    name: 'denyCall',
    verb: 'approvals.deny',
    summary: 'Denies the call; the decision is final',
    about: whoSettles,
    params: ofApproval,
    body: withComment,
    keyKeptBy: 'library',
    answer: z.strictObject({ session: SessionId }),
    handle: async ({ runtime, params, body }) => ({
      session: await runtime.approvals.deny(params.approval, body),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/gc',
    name: 'collectGarbage',
    verb: 'runtime.gc',
    summary:
      'Removes blobs that no log names and worktrees that no session needs; a dry run reports what would be removed',
    body: z.strictObject({ dryRun: z.boolean().optional(), graceMs: z.number().nonnegative().optional() }),
    answer: CollectionView,
    handle: async ({ runtime, body }) => await runtime.gc(body),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/rebuild-projections',
    name: 'rebuildProjections',
    verb: 'sessions.rebuildProjections',
    summary: 'Rebuilds everything that is derived from the logs',
    body: nothing,
    answer: RebuiltView,
    handle: async ({ runtime }) => ({ events: await runtime.sessions.rebuildProjections() }),
  }),
];
