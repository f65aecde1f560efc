import { z } from 'zod';
import { HandoffTarget } from '../../../schema/handoff.ts';
import { HappenedCalls } from '../../../schema/happened.ts';
import { SessionId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { PointText } from '../../../schema/place.ts';
import { Point } from '../../../schema/point.ts';
import { Limits } from '../../../schema/run.ts';
import {
  AdoptionView,
  AttemptsView,
  ForkView,
  ReplayView,
  RetryView,
  RewindView,
  SummaryView,
} from '../../../schema/views/session.ts';
import { nothing, Positive, pageQuery, withReason } from './fields.ts';
import { defineSessionRoute } from './session-route.ts';

const move = (verb: 'resume' | 'reopen' | 'archive' | 'unarchive', summary: string) =>
  defineSessionRoute({
    method: 'POST',
    path: `/v1/sessions/{session}/${verb}`,
    name: `${verb}Session`,
    verb: `session.${verb}`,
    summary,
    body: nothing,
    answer: SummaryView,
    handle: async ({ session }) => {
      await session[verb]();
      return session.summary();
    },
  });

export const lifecycleRoutes = [
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/pause',
    name: 'pauseSession',
    verb: 'session.pause',
    summary: 'Pauses at the next safe point, or within the given time',
    body: withReason.extend({ withinMs: z.int().nonnegative().max(86_400_000).optional() }),
    answer: SummaryView,
    handle: async ({ session, body }) => {
      await session.pause(body);
      return session.summary();
    },
  }),
  move('resume', 'Continues exactly where the session was paused'),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/close',
    name: 'closeSession',
    verb: 'session.close',
    summary: 'Closes the session; reopen undoes it',
    body: withReason,
    answer: SummaryView,
    handle: async ({ session, body }) => {
      await session.close(body);
      return session.summary();
    },
  }),
  move('reopen', 'Makes a closed session active again'),
  move('archive', 'Archives a closed session'),
  move('unarchive', 'Brings an archived session back to closed'),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/fork',
    name: 'forkSession',
    verb: 'session.fork',
    summary: 'Opens a branch that continues from a point, with its state and files; nothing is copied',
    body: z.strictObject({ at: Point.optional(), title: Text.max(500).optional() }),
    status: 201,
    answer: ForkView,
    handle: async ({ session, body }) => {
      const branch = await session.fork(body);
      return { ...(await branch.summary()), happened: await branch.happened() };
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/rewind',
    name: 'rewindSession',
    verb: 'session.rewind',
    summary: 'Goes back to a point; nothing is erased, and waiting inputs are cancelled',
    body: withReason.extend({ to: Point }),
    answer: RewindView,
    handle: async ({ session, body }) => {
      const { cancelled, happened } = await session.rewind(body);
      return { ...(await session.summary()), cancelled: [...cancelled], happened };
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/happened',
    name: 'listHappened',
    verb: 'session.happened',
    summary: 'Lists calls with effects that going back left behind, or would leave behind after a point',
    query: { after: PointText.optional() },
    answer: HappenedCalls,
    handle: async ({ session, query: { after } }) => session.happened({ after }),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/adopt',
    name: 'adoptBranch',
    verb: 'session.adopt',
    summary: "Adopts a branch's state and files as one commit, and reports conflicts",
    body: z.strictObject({
      branch: SessionId,
      onConflict: z.enum(['ours', 'theirs', 'fail']).optional(),
      why: Text.max(2000).optional(),
    }),
    answer: AdoptionView,
    handle: async ({ session, body: { branch, ...options } }) => await session.adopt(branch, options),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/retry',
    name: 'retryTurn',
    verb: 'session.retry',
    summary: 'Runs a turn again as a new attempt beside the old one; waiting inputs are cancelled',
    body: z.strictObject({
      turn: z.int().positive(),
      /** Permits the retry although calls of the turn took effect, or may have. */
      again: z.boolean().optional(),
    }),
    status: 202,
    answer: RetryView,
    handle: async ({ session, body }) => {
      const { run, cancelled, ...retry } = await session.retry(body);
      return { ...retry, ...(run && { run: run.id }), cancelled: [...cancelled] };
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/attempts',
    name: 'listAttempts',
    verb: 'session.attempts',
    summary: 'Lists the attempts at retried turns, the last retried turn first',
    query: { turn: Positive.optional(), ...pageQuery },
    answer: AttemptsView,
    handle: async ({ session, query }) => ({ ...(await session.attempts(query)) }),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/replay',
    name: 'replayTurn',
    verb: 'session.replay',
    summary: 'Replays a turn on a fork against the recording, and reports where it departs',
    body: z.strictObject({
      turn: z.int().positive(),
      /** Used instead of the agent that the session is bound to. */
      agent: z.strictObject({ name: Text.max(100), version: z.int().positive().optional() }).optional(),
      /** A model such as `anthropic/…`, called instead of using the recorded answers. */
      model: Text.max(200).optional(),
      live: z.boolean().optional(),
    }),
    answer: ReplayView,
    handle: async ({ session, runtime, body: { agent, ...options } }) =>
      session.replay({
        ...options,
        ...(agent && { agent: runtime.agents.get(agent.name, agent.version) }),
      }),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/handoff',
    name: 'handOffSession',
    verb: 'session.handoff',
    summary: 'Hands the session to any person, to a member or a role, or back to the agent',
    body: withReason.extend({ to: HandoffTarget }),
    answer: SummaryView,
    handle: async ({ session, body }) => {
      await session.handoff(body);
      return session.summary();
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/limits',
    name: 'limitSession',
    verb: 'session.limit',
    summary: 'Sets the total budget of the session; a run that waits for budget continues',
    body: withReason.extend({ limits: Limits }),
    handle: async ({ session, body: { limits, reason } }) => {
      await session.limit(limits, { reason });
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/bind',
    name: 'bindAgent',
    verb: 'session.bind',
    summary: 'Binds the session to an agent of this server, or to another version of its agent',
    body: z.strictObject({ name: Text.max(100), version: z.int().positive().optional() }),
    answer: SummaryView,
    handle: async ({ session, runtime, body: { name, version } }) => {
      await session.bind(runtime.agents.get(name, version));
      return session.summary();
    },
  }),
];
