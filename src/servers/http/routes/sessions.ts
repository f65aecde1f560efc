import { z } from 'zod';
import { Description } from '../../../schema/description.ts';
import { PerdureError } from '../../../schema/error.ts';
import { SessionId } from '../../../schema/ids.ts';
import { Text } from '../../../schema/json.ts';
import { Limits } from '../../../schema/run.ts';
import {
  ImportedView,
  SessionPageView,
  SummaryView,
  TreeView,
  VerificationView,
} from '../../../schema/views/session.ts';
import { bytes, defineRoute } from '../route.ts';
import { Flag, sessionPage } from './fields.ts';
import { defineSessionRoute } from './session-route.ts';

/** What of a bundle one request may bring. */
const maxBundleBytes = 1024 * 1024 * 1024;
/** What is taken from whoever has a key: the process is everybody's. */
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
      'A session with an agent answers inputs; one without is driven by a loop of your own. Its files begin empty.',
    body: Description.extend({
      /** The name of an agent that the server holds, in its newest version or the one named. */
      agent: z.strictObject({ name: Text.min(1).max(100), version: z.int().positive().optional() }).optional(),
      budget: Limits.optional(),
      carryFrom: SessionId.optional(),
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
    summary: 'A session as listings show it',
    answer: SummaryView,
    handle: async ({ session }) => session.summary(),
  }),
  defineSessionRoute({
    method: 'PATCH',
    path: '/v1/sessions/{session}',
    name: 'updateSession',
    verb: 'session.update',
    summary: 'Gives it another title, other metadata or another priority',
    body: Description,
    answer: SummaryView,
    handle: async ({ session, body }) => {
      if (Object.keys(body).length === 0)
        throw new PerdureError('INVALID_INPUT', 'give a title, metadata or a priority');
      await session.update(body);
      return session.summary();
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/tree',
    name: 'readTree',
    verb: 'session.tree',
    summary: 'The family of forks that it belongs to',
    answer: TreeView,
    handle: async ({ session }) => session.tree(),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/verify',
    name: 'verifySession',
    verb: 'session.verify',
    summary: 'Reads the whole log and tells whether it is as it was written',
    query: { quick: Flag.optional() },
    answer: VerificationView,
    handle: async ({ session, query: { quick } }) => session.verify({ ...(quick !== undefined && { quick }) }),
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
      for (const id of query.session) await runtime.sessions.get(id); // told before the file begins
      return bundle(await lasting(runtime.sessions.export(query.session)), 'sessions');
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/import',
    name: 'importSessions',
    verb: 'sessions.import',
    summary: 'Takes over the sessions of a bundle, whole or not at all',
    about:
      'An Idempotency-Key does not count here: events that are there are not added again, and the answer tells how many were. A workspace has one import at a time; another is STORE_BUSY. Decompressed it may have 8 GiB, the list of one folder 8 MiB, and all its commits 64 MiB.',
    body: bytes,
    maxBytes: maxBundleBytes,
    keepsNoBody: true,
    isOneAtATime: true,
    keyKeptBy: 'nobody',
    answer: ImportedView,
    handle: ({ runtime, content, signal }) => runtime.sessions.import(content, { signal, ...bundleLimits }),
  }),
];
