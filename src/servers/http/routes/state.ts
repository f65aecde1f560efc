import { z } from 'zod';
import { stateTag } from '../../../core/service/commit.ts';
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
import { answered, defineRoute } from '../route.ts';
import { atPoint, Flag, inSession, limitUpTo, Positive, Whole } from './fields.ts';

const Time = Whole.meta({ description: 'milliseconds since 1970' });
const window = {
  since: Time.optional(),
  until: Time.optional(),
  includeRewound: Flag.optional(),
  tool: Text.max(200).optional(),
  actor: Text.max(250).optional(),
  limit: limitUpTo(1000).optional(),
};
const turns = { lastTurns: Positive.optional(), fromTurn: Whole.optional(), toTurn: Whole.optional() };
const commitQuery = {
  ...window,
  path: Text.max(2000).optional(),
  provenance: z.array(z.enum(provenances)).optional(),
};
const callQuery = {
  ...window,
  status: z.array(z.enum(['running', ...toolOutcomes])).optional(),
  callId: Text.max(200).optional(),
  run: RunId.optional(),
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
/** The tag of the state that a change was made for, as `if-match` names it. */
const matched = (headers: Headers): string | undefined => {
  const given = headers.get('if-match');
  return given === null || given === '*' ? undefined : given.replace(/^(?:W\/)?"|"$/g, '');
};

export const stateRoutes = [
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/state',
    name: 'readState',
    verb: 'session.state',
    summary: 'The typed state, now or at a point, with its ETag',
    params: inSession,
    query: atPoint,
    answer: StateView,
    handle: async ({ runtime, params, query, headers }) => {
      const state = await (await runtime.sessions.get(params.session)).state(query);
      const etag = tagOf(stateTag(state));
      const known = (headers.get('if-none-match') ?? '').split(',').map((each) => each.trim());
      if (known.includes(etag)) return new Response(null, { status: 304, headers: { etag } });
      return answered(state, { etag });
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: '/v1/sessions/{session}/state',
    name: 'commitState',
    verb: 'session.commit',
    summary: 'Changes the state by an RFC 6902 patch; with `if-match`, only the state that has this ETag',
    params: inSession,
    body: z.strictObject({
      patch: z.array(PatchOperation).min(1).max(10_000),
      why: Text.max(2000).optional(),
      provenance: Provenance.optional(),
      derivedFrom: z.array(z.int().positive()).max(1000).optional(),
      by: z.enum(['member', 'model']).optional(),
    }),
    answer: MaybeCommitView,
    handle: async ({ runtime, params, headers, body: { patch, ...options } }) => {
      const session = await runtime.sessions.get(params.session);
      const commit = await session.commit(patch, { ...options, onState: matched(headers) });
      return commit ? { commit: commit } : {};
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/lift',
    name: 'liftProvenance',
    verb: 'session.lift',
    summary: 'Says who vouches for entries from now on, and why',
    params: inSession,
    body: z.strictObject({
      paths: z.array(Pointer).min(1).max(1000),
      to: Provenance,
      why: Text.min(1).max(2000),
    }),
    answer: CommitView,
    handle: async ({ runtime, params, body: { paths, ...options } }) =>
      await (await runtime.sessions.get(params.session)).lift(paths, options),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/commits',
    name: 'findCommits',
    verb: 'session.commits',
    summary: 'What changed the state, newest first',
    params: inSession,
    query: { ...commitQuery, ...turns },
    answer: CommitsView,
    handle: async ({ runtime, params, query }) => ({
      commits: await (await runtime.sessions.get(params.session)).commits(withTurns(query)),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/commits/{seq}/revert',
    name: 'revertCommit',
    verb: 'session.revert',
    summary: 'Takes a commit back, by another; of an adoption its files too',
    params: { ...inSession, seq: Positive },
    body: z.strictObject({ why: Text.max(2000).optional() }),
    answer: ReversalView,
    handle: async ({ runtime, params, body }) => {
      const reversal = await (await runtime.sessions.get(params.session)).revert(params.seq, body);
      if (!reversal) return {};
      const { files, ...commit } = reversal;
      return { commit, files };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/tool-calls',
    name: 'findCalls',
    verb: 'session.toolCalls',
    summary: 'Tool calls, newest first',
    params: inSession,
    query: { ...callQuery, ...turns },
    answer: CallsView,
    handle: async ({ runtime, params, query }) => ({
      calls: await (await runtime.sessions.get(params.session)).toolCalls(withTurns(query)),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/commits',
    name: 'findWorkspaceCommits',
    verb: 'sessions.commits',
    summary: 'Across the workspace: what changed the states, newest first',
    query: commitQuery,
    answer: CommitsView,
    handle: async ({ runtime, query }) => ({ commits: await runtime.sessions.commits(query) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/tool-calls',
    name: 'findWorkspaceCalls',
    verb: 'sessions.toolCalls',
    summary: 'Across the workspace: tool calls, newest first',
    query: callQuery,
    answer: CallsView,
    handle: async ({ runtime, query }) => ({ calls: await runtime.sessions.toolCalls(query) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/diff',
    name: 'diffSession',
    verb: 'session.diff',
    summary: 'What was decided, learnt, planned and changed between two places',
    params: inSession,
    query: { from: PlaceText, to: PlaceText },
    answer: DiffView,
    handle: async ({ runtime, params, query }) =>
      await (await runtime.sessions.get(params.session)).diff(query.from, query.to),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/transcript',
    name: 'readTranscript',
    verb: 'session.transcript',
    summary: 'The messages of the live lineage',
    params: inSession,
    query: { ...atPoint, lastTurns: Positive.optional() },
    answer: TranscriptView,
    handle: async ({ runtime, params, query }) => ({
      entries: await (await runtime.sessions.get(params.session)).transcript(query),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/context',
    name: 'readContext',
    verb: 'session.context',
    summary: 'What a model would be given next',
    params: inSession,
    query: { ...atPoint, maxTokens: Positive.optional() },
    answer: ContextView,
    handle: async ({ runtime, params, query }) => await (await runtime.sessions.get(params.session)).context(query),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/compact',
    name: 'compactSession',
    verb: 'session.compact',
    summary: 'Puts a summary over the older turns; nothing is deleted',
    params: inSession,
    body: z.strictObject({ keepTurns: z.int().min(1).optional() }),
    answer: CompactionView,
    handle: async ({ runtime, params, body }) => {
      const compaction = await (await runtime.sessions.get(params.session)).compact(body);
      return compaction ? { compaction: compaction } : {};
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/recall',
    name: 'recallKey',
    verb: 'session.recall',
    summary: 'What was left out of a context, by its key',
    params: inSession,
    query: { key: Text.min(1).max(300) },
    answer: RecallView,
    handle: async ({ runtime, params, query }) => ({
      key: query.key,
      value: await (await runtime.sessions.get(params.session)).recall(query.key),
    }),
  }),
  defineRoute({
    method: 'PUT',
    path: '/v1/sessions/{session}/pins/{fact}',
    name: 'pinFact',
    verb: 'session.pin',
    summary: 'Keeps a fact word for word in every context from the next turn on',
    params: { ...inSession, fact: Text.min(1).max(1000) },
    handle: async ({ runtime, params }) => {
      await (await runtime.sessions.get(params.session)).pin(params.fact);
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/sessions/{session}/pins/{fact}',
    name: 'unpinFact',
    verb: 'session.unpin',
    summary: 'Ends that',
    params: { ...inSession, fact: Text.min(1).max(1000) },
    handle: async ({ runtime, params }) => {
      await (await runtime.sessions.get(params.session)).unpin(params.fact);
    },
  }),
];
