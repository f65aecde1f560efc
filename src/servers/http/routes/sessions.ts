import { z } from 'zod';
import { Description } from '../../../schema/description.ts';
import { PerdureError } from '../../../schema/error.ts';
import { SessionId, VerificationId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { Limits } from '../../../schema/run.ts';
import { Sharing } from '../../../schema/sharing.ts';
import { MaybeDamageView, RepairView } from '../../../schema/views/maintenance.ts';
import {
  ImportedView,
  SessionPageView,
  SummaryView,
  TreeView,
  VerificationJobView,
  VerificationView,
} from '../../../schema/views/session.ts';
import { answered, bytes, defineRoute } from '../route.ts';
import { Flag, nothing, sessionPage } from './fields.ts';
import { defineSessionRoute } from './session-route.ts';

/** Maximum size of a bundle in one request. */
const maxBundleBytes = 1024 * 1024 * 1024;
/** Limits on a bundle after decompression. They protect the other workspaces that share this process. */
const bundleLimits = {
  maxBytes: 8 * maxBundleBytes,
  maxTreeBytes: 8 * 1024 * 1024,
  maxCommitBytes: 64 * 1024 * 1024,
};

const bundle = (content: AsyncIterable<Uint8Array>, name: string): Response =>
  new Response(ReadableStream.from(content) as unknown as ReadableStream, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}.perdure"`,
    },
  });

export const sessionRoutes = [
  defineRoute({
    method: 'GET',
    path: '/v1/sessions',
    name: 'listSessions',
    verb: 'sessions.list',
    summary: 'The sessions of the workspace, newest change first or by ids',
    query: sessionPage,
    answer: SessionPageView,
    handle: ({ runtime, query }) => runtime.sessions.list(query),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/sessions',
    name: 'openSession',
    verb: 'sessions.open',
    summary: 'Opens a session',
    about:
      'A session with an agent answers inputs; your own loop drives one without. It starts without files, or with those that it carries over.',
    body: Description.extend({
      ...Sharing.shape,
      /** Name of an agent of this server; its newest version unless `version` is given. */
      agent: z.strictObject({ name: Text.min(1).max(100), version: z.int().positive().optional() }).optional(),
      budget: Limits.optional(),
      carryFrom: z
        .union([SessionId, z.strictObject({ session: SessionId, files: z.boolean().optional() })])
        .meta({ description: 'The session whose knowledge, plans and artifacts the new one starts with.' })
        .optional(),
    }),
    status: 201,
    answer: SummaryView,
    handle: async ({ runtime, body: { agent, ...options } }) => {
      const session = await runtime.sessions.open({
        ...options,
        ...(agent && { agent: runtime.agents.get(agent.name, agent.version) }),
      });
      return session.summary();
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}',
    name: 'readSession',
    verb: 'session.summary',
    summary: 'The summary of a session, as listings show it',
    answer: SummaryView,
    handle: async ({ session }) => session.summary(),
  }),
  defineSessionRoute({
    method: 'PATCH',
    path: '/v1/sessions/{session}',
    name: 'updateSession',
    verb: 'session.update',
    summary: 'Changes the title, metadata or priority',
    body: Description,
    answer: SummaryView,
    handle: async ({ session, body }) => {
      if (Object.keys(body).length === 0)
        throw new PerdureError('INVALID_INPUT', 'the body is empty: give a title, metadata or a priority');
      await session.update(body);
      return session.summary();
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/share',
    name: 'shareSession',
    verb: 'session.share',
    summary: 'Changes who sees the session, and the sessions of its subagents',
    about: 'Only the owner of the session may, or an admin. `sharedWith` replaces the earlier list.',
    body: Sharing,
    answer: SummaryView,
    handle: async ({ session, body }) => {
      await session.share(body);
      return session.summary();
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/tree',
    name: 'readTree',
    verb: 'session.tree',
    summary: 'The tree of forks that the session belongs to',
    answer: TreeView,
    handle: async ({ session }) => session.tree(),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/verify',
    name: 'verifySession',
    verb: 'session.verify',
    summary: 'Reads the whole log and reports whether it is unchanged',
    about:
      'Over 10,000 events it becomes a job: the answer is 202 with the verification, and `location` is its address.',
    query: { quick: Flag.optional() },
    answer: VerificationView,
    handle: async ({ session, query: { quick = false }, verifications, signal }) => {
      const { seq } = await session.summary();
      if (seq <= verifications.largeEvents) return session.verify({ quick, signal });
      const job = await verifications.start(session, { quick });
      return answered(job, { location: `/v1/sessions/${session.id}/verifications/${job.id}` }, 202);
    },
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/verifications',
    name: 'startVerification',
    verb: 'session.verify',
    summary: 'Starts a verification that runs after the answer, or returns the one that this key has running',
    about: 'It ends when no client has asked for it for a minute, and is lost when the server process ends.',
    body: z.strictObject({ quick: z.boolean().optional() }),
    status: 202,
    answer: VerificationJobView,
    handle: ({ session, body: { quick = false }, verifications }) => verifications.start(session, { quick }),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/verifications/{verification}',
    name: 'readVerification',
    verb: 'session.verify',
    summary: 'How far a verification is, and its result',
    params: { verification: VerificationId },
    answer: VerificationJobView,
    handle: async ({ session, params, verifications }) => verifications.find(session.id, params.verification),
  }),
  defineSessionRoute({
    method: 'DELETE',
    path: '/v1/sessions/{session}/verifications/{verification}',
    name: 'cancelVerification',
    verb: 'session.verify',
    summary: 'Stops a verification',
    params: { verification: VerificationId },
    handle: async ({ session, params, verifications }) => verifications.cancel(session.id, params.verification),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/damage',
    name: 'readDamage',
    verb: 'session.damage',
    summary: 'Checks the log, and says what is lost if one of its events is damaged',
    answer: MaybeDamageView,
    handle: async ({ session }) => ({ damage: await session.damage() }),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/repair',
    name: 'repairSession',
    verb: 'session.repair',
    summary: 'Continues a damaged session from its last good event as a fork, and quarantines it',
    about: 'Repeating it returns the same fork. If the log is whole, nothing changes and the answer is empty.',
    body: nothing,
    answer: RepairView,
    handle: async ({ session }) => {
      const { damage, fork } = await session.repair();
      return { damage, ...(fork && { fork: await fork.summary() }) };
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/export',
    name: 'exportSession',
    verb: 'session.export',
    summary: 'One portable file with the session and the lineage it needs',
    answer: bytes,
    handle: async ({ session, lasting }) => {
      return bundle(await lasting(session.export()), session.id);
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/export',
    name: 'exportSessions',
    verb: 'sessions.export',
    summary: 'One portable file with several sessions and the lineage they need',
    query: { session: z.array(SessionId).min(1).max(100) },
    answer: bytes,
    handle: async ({ runtime, query, lasting }) => {
      for (const id of query.session) await runtime.sessions.get(id); // a missing session must be reported before the file begins
      return bundle(await lasting(runtime.sessions.export(query.session)), 'sessions');
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/import',
    name: 'importSessions',
    verb: 'sessions.import',
    summary: 'Imports the sessions of a bundle, all or none',
    about:
      'An Idempotency-Key has no effect here: existing events are not added again, and the answer says how many were added. A workspace runs one import at a time; another gets STORE_BUSY. Limits after decompression: 8 GiB in total, 8 MiB for the listing of one folder, 64 MiB for all commits together.',
    body: bytes,
    maxBytes: maxBundleBytes,
    keepsNoBody: true,
    isOneAtATime: true,
    keyKeptBy: 'nobody',
    answer: ImportedView,
    handle: ({ runtime, content, signal }) => runtime.sessions.import(content, { signal, ...bundleLimits }),
  }),
];
