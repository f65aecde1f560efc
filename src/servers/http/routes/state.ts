import { z } from 'zod';
import { listOf } from '../../../schema/bounded.ts';
import { RunId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { toolOutcomes } from '../../../schema/message.ts';
import { maxCompared, PlaceText } from '../../../schema/place.ts';
import { PatchOperation, Pointer, Provenance, provenances } from '../../../schema/state.ts';
import { TaintReport } from '../../../schema/taint.ts';
import { Trace } from '../../../schema/trace.ts';
import {
  CallsView,
  CommitsView,
  CommitView,
  CompactionView,
  ComparisonView,
  ContextView,
  DiffView,
  MaybeCommitView,
  RecallView,
  ReversalView,
  StateOrPartView,
  TranscriptView,
} from '../../../schema/views/session.ts';
import { defineRoute } from '../route.ts';
import { atPoint, Flag, Positive, pageQuery, timeText, Whole } from './fields.ts';
import { defineSessionRoute } from './session-route.ts';
import { answerPart, answerState, committedPart } from './state-answer.ts';

const window = {
  since: timeText('Not before'),
  until: timeText('Not after'),
  includeRewound: Flag.optional(),
  tool: Text.max(200).optional(),
  actor: Text.max(250).optional(),
  ...pageQuery,
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

/** The ETag in `if-match`: that of the state on which the client based its change. */
const matched = (headers: Headers): string | undefined => {
  const given = headers.get('if-match');
  return given === null || given === '*' ? undefined : committedPart(given.replace(/^(?:W\/)?"|"$/g, ''));
};

export const stateRoutes = [
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/state',
    name: 'readState',
    verb: 'session.state',
    summary: 'The typed state or the part of it at a path, now or at a point, with its ETag',
    query: {
      ...atPoint,
      path: Pointer.min(1)
        .meta({ description: 'Only the part at this JSON Pointer, such as `/facts/port`.' })
        .optional(),
    },
    condition: 'if-none-match',
    answer: StateOrPartView,
    handle: async ({ session, query: { at, path }, headers }) => {
      if (path) return answerPart(await session.state({ at, path }), path, headers);
      return answerState(await session.state({ at }), headers);
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
    path: '/v1/sessions/{session}/taint',
    name: 'getTaint',
    verb: 'session.taint',
    summary: 'What brought data from outside into the session, and which files carry it on',
    answer: TaintReport,
    handle: async ({ session }) => await session.taint(),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/taint/clear',
    name: 'clearTaint',
    verb: 'session.clearTaint',
    summary: 'Vouches for what the session holds, with a reason; returns what tainted it',
    body: z.strictObject({
      reason: Text.min(1).max(2000),
      files: z.boolean().optional(),
      at: z.int().positive().optional(),
    }),
    answer: TaintReport,
    handle: async ({ session, body }) => await session.clearTaint(body),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/commits',
    name: 'findCommits',
    verb: 'session.commits',
    summary: 'The commits of the session, newest first',
    query: { ...commitQuery, ...turns },
    answer: CommitsView,
    handle: async ({ session, query }) => await session.commits(withTurns(query)),
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
    handle: async ({ session, query }) => await session.toolCalls(withTurns(query)),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/commits',
    name: 'findWorkspaceCommits',
    verb: 'sessions.commits',
    summary: 'The commits of the workspace, newest first',
    query: commitQuery,
    answer: CommitsView,
    handle: async ({ runtime, query }) => await runtime.sessions.commits(query),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/tool-calls',
    name: 'findWorkspaceCalls',
    verb: 'sessions.toolCalls',
    summary: 'The tool calls of the workspace, newest first',
    query: callQuery,
    answer: CallsView,
    handle: async ({ runtime, query }) => await runtime.sessions.toolCalls(query),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/diff',
    name: 'diffSession',
    verb: 'session.diff',
    summary: 'What happened differently between two places, and how their states and files differ',
    query: {
      from: PlaceText,
      to: PlaceText,
      content: Flag.meta({ description: 'With text diffs of files, which need the area `files`.' }).optional(),
      ...pageQuery,
    },
    answer: DiffView,
    handle: async ({ session, query: { from, to, ...options } }) => await session.diff(from, to, options),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/trace',
    name: 'traceEntry',
    verb: 'session.trace',
    summary: 'What an entry, a file or an event rests on, and what rests on it',
    query: {
      path: Text.min(1).max(2100).meta({
        description: 'An entry such as `/facts/port`, a file such as `files:src/a.ts`, or an event such as `seq:17`.',
      }),
      direction: z
        .enum(['back', 'forward', 'both'])
        .meta({ description: '`back`: only what it rests on; `forward`: only what rests on it.' })
        .optional(),
      depth: Positive.meta({ description: 'The greatest distance from the entry, at most 100.' }).optional(),
      limit: Positive.meta({ description: 'The maximum number of nodes in each direction, at most 1,000.' }).optional(),
    },
    answer: Trace,
    handle: async ({ session, query: { path, ...options } }) => await session.trace(path, options),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/compare',
    name: 'compareBranches',
    verb: 'session.compare',
    summary: 'What came of 2 to 8 branches since the point that all of them share',
    about: 'Each `branch` is a place: another session, now or at a point, or a point of this one.',
    query: { branch: z.array(PlaceText).min(2).max(maxCompared) },
    answer: ComparisonView,
    handle: async ({ session, query }) => await session.compare(query.branch),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/transcript',
    name: 'readTranscript',
    verb: 'session.transcript',
    summary: 'The messages of the live lineage, oldest first; the first page has the newest ones',
    query: { ...atPoint, lastTurns: Positive.optional(), ...pageQuery },
    answer: TranscriptView,
    handle: async ({ session, query }) => await session.transcript(query),
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
    summary: 'The content that was left out of a context, by its key or name',
    query: { key: Text.min(1).max(500) },
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
