import { z } from 'zod';
import { refuseBeyond } from '../../../core/engine/points.ts';
import { maxPayloadBytes } from '../../../core/ports/store.ts';
import type { Run } from '../../../core/runs/runs.ts';
import { maxMessages, type Session } from '../../../core/runtime/session.ts';
import { listOf } from '../../../schema/bounded.ts';
import { BegunCall, CallBeginning, CallEnding } from '../../../schema/call-request.ts';
import type { SessionEvent } from '../../../schema/event.ts';
import { Text } from '../../../schema/json.ts';
import { Message, type MessageInput, someParts, UserPart } from '../../../schema/message.ts';
import { ReportedFiles } from '../../../schema/reported-files.ts';
import { InputPolicy } from '../../../schema/run.ts';
import type { RunPart } from '../../../schema/run-part.ts';
import { hasEnded } from '../../../schema/run-result.ts';
import { EventPage, EventView } from '../../../schema/views/event.ts';
import {
  InputsView,
  RunPageView,
  RunResultView,
  RunView,
  WorkspaceRunPageView,
} from '../../../schema/views/session.ts';
import { defineRoute, type Frame, stream } from '../route.ts';
import { atPoint, Flag, inRun, limitUpTo, nothing, ofCall, runPage, Whole } from './fields.ts';
import { lastId } from './last-id.ts';
import { defineSessionRoute } from './session-route.ts';

const content = z.union([Text, listOf(UserPart, someParts)], {
  error: ({ input }) =>
    typeof input === 'string' || Array.isArray(input) ? undefined : 'expected text, or a list of parts',
});
/** Enough for the largest payload of an event and the JSON around it. */
const maxBytes = maxPayloadBytes + 1024 * 1024;

async function* asFrames(events: AsyncIterable<SessionEvent>): AsyncGenerator<Frame, void, void> {
  for await (const event of events) yield { id: String(event.seq), event: event.type, data: event, isShared: true };
}

async function* partFrames(parts: AsyncIterable<RunPart>): AsyncGenerator<Frame, void, void> {
  for await (const part of parts) {
    yield { ...('seq' in part && { id: String(part.seq) }), event: part.type, data: part };
  }
}

/** Adds a last frame that says that the run has ended. A client recognizes a stream without it as cut off. */
async function* untilOver(
  run: Run,
  frames: AsyncIterable<Frame>,
  last: string,
  signal: AbortSignal,
): AsyncGenerator<Frame, void, void> {
  yield* frames;
  if (!signal.aborted && hasEnded(await run.status())) yield { event: last, data: {} };
}

/** Position after which a reader resumes. A position after the newest event is refused before the stream begins. */
const cursorOf = async (session: Session, headers: Headers, query: { readonly after?: number | undefined }) => {
  const after = lastId(headers) ?? query.after;
  if (after) refuseBeyond({ session: session.id }, after, await session.summary());
  return after;
};

const wantsStream = (headers: Headers): boolean => (headers.get('accept') ?? '').includes('text/event-stream');

/** A message whose content may be plain text and whose id may be missing. The library validates the rest. */
const MessageBody = z.union([Message, z.looseObject({ role: z.enum(['system', 'user', 'assistant', 'tool']) })]);

export const runRoutes = [
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/messages',
    name: 'appendMessages',
    verb: 'session.append',
    summary: 'Appends messages of your own loop; a user message opens a turn',
    about:
      'The result of a call that was not tracked adds a record of the call, and one commit that counts it. `files` names the files that each call changed, by call id.',
    body: z.strictObject({
      messages: listOf(MessageBody, { min: 1, max: maxMessages }),
      files: ReportedFiles.optional(),
    }),
    maxBytes,
    keyKeptBy: 'library',
    status: 201,
    answer: z.strictObject({ events: z.array(EventView) }),
    handle: async ({ session, body, idempotencyKey }) => {
      const { messages, files } = body;
      return { events: await session.append(messages as readonly MessageInput[], { idempotencyKey, files }) };
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/runs',
    name: 'sendInput',
    verb: 'session.send',
    summary: 'Stores an input and creates the run that will answer it',
    body: z.strictObject({
      input: content,
      policy: InputPolicy.optional(),
      /** In milliseconds since 1970. */
      notBefore: z.int().positive().optional(),
    }),
    maxBytes,
    keyKeptBy: 'library',
    status: 202,
    answer: RunView,
    handle: async ({ session, body: { input, ...options }, idempotencyKey }) => {
      const run = await session.send(input, { idempotencyKey, ...options });
      return { run: run.id, session: run.session };
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/inputs',
    name: 'listInputs',
    verb: 'session.inputs',
    summary: 'The waiting inputs in order: neither begun nor joined to a run',
    answer: InputsView,
    handle: async ({ session }) => ({ inputs: [...(await session.inputs())] }),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/runs',
    name: 'listRuns',
    verb: 'session.runs',
    summary: 'The runs of the session, the last admitted one first',
    query: runPage,
    answer: RunPageView,
    handle: async ({ session, query }) => {
      const { runs, ...page } = await session.runs(query);
      return { runs: [...runs], ...page };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/runs',
    name: 'listWorkspaceRuns',
    verb: 'sessions.runs',
    summary: 'The runs of the workspace, the last admitted one first',
    query: runPage,
    answer: WorkspaceRunPageView,
    handle: async ({ runtime, query }) => {
      const { runs, damaged, ...page } = await runtime.sessions.runs(query);
      return { runs: [...runs], damaged: [...damaged], ...page };
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/runs/{run}',
    name: 'readRun',
    verb: 'session.run',
    summary: 'The status of a run; with `wait`, once it has ended or waits for a person',
    params: inRun,
    query: { wait: Flag.optional() },
    answer: RunResultView,
    handle: async ({ session, params, query, signal, waiting }) => {
      const run = await session.run(params.run);
      return query.wait ? waiting(() => run.result({ signal })) : run.status();
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/runs/{run}/cancel',
    name: 'cancelRun',
    verb: 'session.cancel',
    summary: 'Cancels a run at once',
    params: inRun,
    body: nothing,
    handle: async ({ session, params }) => {
      await session.cancel(params.run);
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/cancel',
    name: 'cancelCurrentRun',
    verb: 'session.cancel',
    summary: 'Cancels the current run at once, if there is one',
    body: nothing,
    answer: z.strictObject({ run: inRun.run.optional() }),
    handle: async ({ session }) => {
      const run = await session.cancel();
      return run ? { run } : {};
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/answers/{call}',
    name: 'answerQuestion',
    verb: 'session.answer',
    summary: 'Answers a question of the agent, by the id of its call',
    params: ofCall,
    body: z.strictObject({ text: Text.max(100_000) }),
    handle: async ({ session, params, body }) => {
      await session.answer(params.call, body.text);
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/tool-calls',
    name: 'beginCall',
    verb: 'session.beginCall',
    summary: 'Journals that a loop outside Perdure begins a call, before its tool runs',
    about:
      'Without a token, the call claims the session: earlier loops are fenced, and their calls in flight end as interrupted. The answer has the token that the later calls of this loop and their ends must show.',
    body: CallBeginning,
    maxBytes,
    keyKeptBy: 'library',
    status: 201,
    answer: BegunCall,
    handle: ({ session, body, idempotencyKey }) => session.beginCall(body, { idempotencyKey }),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/tool-calls/{call}/end',
    name: 'endCall',
    verb: 'session.endCall',
    summary: 'Journals how a call of a loop outside Perdure ended',
    about: 'A token of an earlier claim is rejected with FENCED, and nothing is written.',
    params: ofCall,
    body: CallEnding,
    maxBytes,
    keyKeptBy: 'library',
    handle: async ({ session, params, body, idempotencyKey }) => {
      await session.endCall(params.call, body, { idempotencyKey });
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/events',
    name: 'readEvents',
    verb: 'session.events',
    summary: 'The log as it is written; with `follow=false`, only what exists now',
    about:
      'Server-sent events: `id` is the seq, `event` the type, `data` the event. After a break, `Last-Event-ID` or `after` resumes without a gap or a repeat. `at` ends the stream at that point. `follow=false` returns one page as JSON, or with `accept: text/event-stream` a stream that ends.',
    query: {
      after: Whole.optional(),
      ...atPoint,
      follow: Flag.optional(),
      limit: limitUpTo(1000).optional(),
    },
    answer: stream,
    page: EventPage,
    handle: async ({ session, query, headers, events }) => {
      const { at, follow = at === undefined, limit = 200 } = query;
      const after = (await cursorOf(session, headers, query)) ?? 0;
      if (follow || wantsStream(headers)) {
        return events((signal) => asFrames(session.events({ after, at, follow, signal })));
      }
      return Response.json(await pageOf(session.events({ after, at }), after, limit));
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/runs/{run}/events',
    name: 'readRunEvents',
    verb: 'session.run',
    summary: 'The events of one run, until it ends',
    about:
      'Server-sent events, like those of a session. When the run is over, the last frame is named `end` and has no id; a stream without it was cut off.',
    params: inRun,
    query: { after: Whole.optional() },
    answer: stream,
    handle: async ({ session, params, query, headers, events }) => {
      const run = await session.run(params.run);
      const after = await cursorOf(session, headers, query);
      return events((signal) => untilOver(run, asFrames(run.events({ after, signal })), 'end', signal));
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/runs/{run}/stream',
    name: 'streamRun',
    verb: 'session.run',
    summary: 'What a run shows, part by part, until it ends',
    about:
      'Server-sent events: `event` is the type of the part, `data` the part. Parts of the log have their seq as `id`, and `Last-Event-ID` or `after` goes on behind it. Pieces of an answer have no id: `offset` is their place in the message, and a new connection begins with the first piece. The last frame, when the run is over, is named `over` and has no id; a stream without it broke off.',
    params: inRun,
    query: { after: Whole.optional() },
    answer: stream,
    handle: async ({ session, params, query, headers, events }) => {
      const run = await session.run(params.run);
      const after = await cursorOf(session, headers, query);
      return events((signal) => untilOver(run, partFrames(run.stream({ after, signal })), 'over', signal));
    },
  }),
];

const maxPageBytes = 8 * 1024 * 1024;

const pageOf = async (
  events: AsyncGenerator<SessionEvent, void, void>,
  after: number,
  limit: number,
): Promise<z.input<typeof EventPage>> => {
  const page: SessionEvent[] = [];
  let size = 0;
  for await (const event of events) {
    if (page.length === limit || size > maxPageBytes) return { events: page, after: page.at(-1)!.seq, more: true };
    page.push(event);
    size += JSON.stringify(event.payload).length;
  }
  return { events: page, after: page.at(-1)?.seq ?? after, more: false };
};
