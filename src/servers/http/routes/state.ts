import { z } from 'zod';
import { stateTag } from '../../../core/state/commit.ts';
import { listOf } from '../../../schema/bounded.ts';
import { RunId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { toolOutcomes } from '../../../schema/message.ts';
import { PlaceText } from '../../../schema/place.ts';
import { PatchOperation, Pointer, Provenance, provenances } from '../../../schema/state.ts';
import {
  CallsView,
  CommitsView,
  CommitView,
  CompactionView,
  ContextView,
  DiffView,
  MaybeCommitView,
  RecallView,
  ReversalView,
  StateView,
  TranscriptView,
} from '../../../schema/views/session.ts';
import { matchesEtag } from '../etag-match.ts';
import { answered, defineRoute } from '../route.ts';
import { atPoint, Flag, limitUpTo, Positive, timeText, Whole } from './fields.ts';
import { defineSessionRoute } from './session-route.ts';

const window = {
  since: timeText('Not before'),
  until: timeText('Not after'),
  includeRewound: Flag.optional(),
  tool: Text.max(200).optional(),
  actor: Text.max(250).optional(),
  limit: limitUpTo(1000).optional(),
};
const turns = { lastTurns: Positive.optional(), fromTurn: Whole.optional(), toTurn: Whole.optional() };
const commitQuery = {
  ...window,
  path: Text.max(2000)
    .meta({ description: 'Only commits that touched a path matching this pattern, such as `/filesModified/**`.' })
    .optional(),
  provenance: z.array(z.enum(provenances)).optional(),
};
const callQuery = {
  ...window,
  status: z.array(z.enum(['running', ...toolOutcomes])).optional(),
  callId: Text.max(200).optional(),
  run: RunId.optional(),
  input: Flag.optional(),
};

interface Turns {
  readonly lastTurns?: number | undefined;
  readonly fromTurn?: number | undefined;
  readonly toTurn?: number | undefined;
}

const withTurns = <Query extends Turns>({ lastTurns, fromTurn, toTurn, ...rest }: Query) => ({
  ...rest,
  ...(lastTurns !== undefined && { last: { turns: lastTurns } }),
  ...((fromTurn !== undefined || toTurn !== undefined) && { turns: { from: fromTurn, to: toTurn } }),
});

const tagOf = (text: string): string => `"${text}"`;
/** The ETag in `if-match`: that of the state on which the client based its change. */
const matched = (headers: Headers): string | undefined => {
  const given = headers.get('if-match');
  return given === null || given === '*' ? undefined : given.replace(/^(?:W\/)?"|"$/g, '');
};

export const stateRoutes = [
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/state',
    name: 'readState',
    verb: 'session.state',
    summary: 'The typed state, now or at a point, with its ETag',
    query: atPoint,
    condition: 'if-none-match',
    answer: StateView,
    handle: async ({ session, query, headers }) => {
      const state = await session.state(query);
      const etag = tagOf(stateTag(state));
      if (matchesEtag(headers, etag)) return new Response(null, { status: 304, headers: { etag } });
      return answered(state, { etag });
    },
  }),
  defineSessionRoute({
    method: 'PATCH',
    path: '/v1/sessions/{session}/state',
    name: 'commitState',
    verb: 'session.commit',
    summary: 'Changes the state by an RFC 6902 patch; with `if-match`, only the state that has this ETag',
    body: z.strictObject({
      patch: listOf(PatchOperation, { min: 1, max: 10_000 }),
      why: Text.max(2000).optional(),
      provenance: Provenance.optional(),
      derivedFrom: listOf(z.int().positive(), { max: 1000 }).optional(),
      by: z.enum(['member', 'model']).optional(),
    }),
    condition: 'if-match',
    answer: MaybeCommitView,
    handle: async ({ session, headers, body: { patch, ...options } }) => {
      const commit = await session.commit(patch, { ...options, onState: matched(headers) });
      return commit ? { commit } : {};
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/lift',
    name: 'liftProvenance',
    verb: 'session.lift',
    summary: 'Raises the provenance of entries, with a reason',
    body: z.strictObject({
      paths: listOf(Pointer, { min: 1, max: 1000 }),
      to: Provenance,
      why: Text.min(1).max(2000),
    }),
    answer: CommitView,
    handle: async ({ session, body: { paths, ...options } }) => await session.lift(paths, options),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/commits',
    name: 'findCommits',
    verb: 'session.commits',
    summary: 'The commits of the session, newest first',
    query: { ...commitQuery, ...turns },
    answer: CommitsView,
    handle: async ({ session, query }) => ({ commits: await session.commits(withTurns(query)) }),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/commits/{seq}/revert',
    name: 'revertCommit',
    verb: 'session.revert',
    summary: 'Reverts a commit with another one; for an adoption, its files too',
    params: { seq: Positive },
    body: z.strictObject({ why: Text.max(2000).optional() }),
    answer: ReversalView,
    handle: async ({ session, params, body }) => {
      const reversal = await session.revert(params.seq, body);
      if (!reversal) return {};
      const { files, ...commit } = reversal;
      return { commit, files };
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/tool-calls',
    name: 'findCalls',
    verb: 'session.toolCalls',
    summary: 'The tool calls of the session, newest first',
    query: { ...callQuery, ...turns },
    answer: CallsView,
    handle: async ({ session, query }) => ({ calls: await session.toolCalls(withTurns(query)) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/commits',
    name: 'findWorkspaceCommits',
    verb: 'sessions.commits',
    summary: 'The commits of the workspace, newest first',
    query: commitQuery,
    answer: CommitsView,
    handle: async ({ runtime, query }) => ({ commits: await runtime.sessions.commits(query) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/tool-calls',
    name: 'findWorkspaceCalls',
    verb: 'sessions.toolCalls',
    summary: 'The tool calls of the workspace, newest first',
    query: callQuery,
    answer: CallsView,
    handle: async ({ runtime, query }) => ({ calls: await runtime.sessions.toolCalls(query) }),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/diff',
    name: 'diffSession',
    verb: 'session.diff',
    summary: 'What was decided, learnt, planned and changed between two places',
    query: { from: PlaceText, to: PlaceText },
    answer: DiffView,
    handle: async ({ session, query }) => await session.diff(query.from, query.to),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/transcript',
    name: 'readTranscript',
    verb: 'session.transcript',
    summary: 'The messages of the live lineage',
    query: { ...atPoint, lastTurns: Positive.optional() },
    answer: TranscriptView,
    handle: async ({ session, query }) => ({ entries: await session.transcript(query) }),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/context',
    name: 'readContext',
    verb: 'session.context',
    summary: 'The context that a model would get next',
    query: { ...atPoint, maxTokens: Positive.optional() },
    answer: ContextView,
    handle: async ({ session, query }) => await session.context(query),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/compact',
    name: 'compactSession',
    verb: 'session.compact',
    summary: 'Replaces the older turns by a summary in the context; nothing is deleted',
    body: z.strictObject({ keepTurns: z.int().min(1).optional() }),
    answer: CompactionView,
    handle: async ({ session, body }) => {
      const compaction = await session.compact(body);
      return compaction ? { compaction } : {};
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/recall',
    name: 'recallKey',
    verb: 'session.recall',
    summary: 'The content that was left out of a context, by its key',
    query: { key: Text.min(1).max(300) },
    answer: RecallView,
    handle: async ({ session, query }) => ({
      key: query.key,
      value: await session.recall(query.key),
    }),
  }),
  defineSessionRoute({
    method: 'PUT',
    path: '/v1/sessions/{session}/pins/{fact}',
    name: 'pinFact',
    verb: 'session.pin',
    summary: 'Keeps a fact verbatim in every context from the next turn on',
    params: { fact: Text.min(1).max(1000) },
    handle: async ({ session, params }) => {
      await session.pin(params.fact);
    },
  }),
  defineSessionRoute({
    method: 'DELETE',
    path: '/v1/sessions/{session}/pins/{fact}',
    name: 'unpinFact',
    verb: 'session.unpin',
    summary: 'Unpins a fact',
    params: { fact: Text.min(1).max(1000) },
    handle: async ({ session, params }) => {
      await session.unpin(params.fact);
    },
  }),
];
