import { z } from 'zod';
import { maxContentBytes } from '../../../core/files/content-bytes.ts';
import { listOf } from '../../../schema/bounded.ts';
import { ArtifactName } from '../../../schema/event.ts';
import { Text } from '../../../schema/json.ts';
import { Place, PlaceText } from '../../../schema/place.ts';
import {
  ArtifactsView,
  ArtifactView,
  FileChangesView,
  FileHistoryView,
  FilesDiffView,
  FilesView,
  RestoredFilesView,
  WrittenFileView,
} from '../../../schema/views/files.ts';
import { bytes, type RouteCall } from '../route.ts';
import { atPoint, Flag, limitUpTo, Path, Positive } from './fields.ts';
import { defineSessionRoute } from './session-route.ts';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const where = { ...atPoint, setAside: Positive.optional() };

/** Serves a file as an attachment, so that no browser shows it as a page: a session's files may be hostile. */
const download = (
  { held }: Pick<RouteCall<never, never, never>, 'held'>,
  content: Uint8Array,
  name: string,
  mediaType = 'application/octet-stream',
): Response =>
  new Response(held(content), {
    headers: {
      'content-length': String(content.length),
      'content-type': mediaType,
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
    },
  });

const bodyOf = async ({ content }: Pick<RouteCall<never, never, never>, 'content'>): Promise<Uint8Array> =>
  Buffer.concat(await Array.fromAsync(content));

export const fileRoutes = [
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/files',
    name: 'listFiles',
    verb: 'files.list',
    summary: 'The files of the session, now or at a point',
    query: { ...where, path: Path.optional() },
    answer: FilesView,
    handle: async ({ session, query }) => ({ files: await session.files.list(query) }),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/files/content',
    name: 'readFile',
    verb: 'files.read',
    summary: 'The content of a file',
    query: { ...where, path: Path },
    answer: bytes,
    handle: async ({ session, held, query: { path, ...at } }) => {
      const content = await session.files.read(path, at);
      return download({ held }, content, path.split('/').at(-1)!);
    },
  }),
  defineSessionRoute({
    method: 'PUT',
    path: '/v1/sessions/{session}/files/content',
    name: 'writeFile',
    verb: 'files.write',
    summary: 'Writes a file; the next tool of a run finds it in the worktree',
    query: {
      path: Path,
      /** Permissions as three octal digits. */
      mode: z
        .string()
        .regex(/^[0-7]{3}$/)
        .transform((text) => Number.parseInt(text, 8))
        .meta({ type: 'string', pattern: '^[0-7]{3}$' })
        .optional(),
      expect: z.union([Hash, z.literal('none')]).optional(),
      why: Text.max(2000).optional(),
    },
    body: bytes,
    maxBytes: maxContentBytes,
    keyKeptBy: 'library',
    answer: WrittenFileView,
    handle: async ({ session, query: { path, expect, ...options }, content, idempotencyKey }) =>
      session.files.write(path, await bodyOf({ content }), {
        ...options,
        idempotencyKey,
        ...(expect !== undefined && { expect: expect === 'none' ? null : expect }),
      }),
  }),
  defineSessionRoute({
    method: 'DELETE',
    path: '/v1/sessions/{session}/files/content',
    name: 'deleteFile',
    verb: 'files.delete',
    summary: 'Deletes a file, or a folder with everything in it',
    query: { path: Path, expect: Hash.optional(), why: Text.max(2000).optional() },
    keyKeptBy: 'library',
    handle: async ({ session, query: { path, ...options }, idempotencyKey }) => {
      await session.files.delete(path, { ...options, idempotencyKey });
    },
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/files/diff',
    name: 'diffFiles',
    verb: 'files.diff',
    summary: 'The differences between the files of two places, unified and structured',
    query: { from: PlaceText, to: PlaceText },
    answer: FilesDiffView,
    handle: async ({ session, query }) => await session.files.diff(query.from, query.to),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/files/changes',
    name: 'listFileChanges',
    verb: 'files.changes',
    summary: 'The changed files between two places, without their content',
    query: { from: PlaceText, to: PlaceText },
    answer: FileChangesView,
    handle: async ({ session, query }) => ({ changes: await session.files.changes(query.from, query.to) }),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/files/history',
    name: 'readFileHistory',
    verb: 'files.history',
    summary: 'The versions of a file, newest first, also under its former names',
    query: { ...atPoint, path: Path, limit: limitUpTo(1000).optional(), includeRewound: Flag.optional() },
    answer: FileHistoryView,
    handle: async ({ session, query: { path, ...options } }) => ({
      versions: await session.files.history(path, options),
    }),
  }),
  defineSessionRoute({
    method: 'POST',
    path: '/v1/sessions/{session}/files/restore',
    name: 'restoreFiles',
    verb: 'files.restore',
    summary: 'Restores the files of a place; a dry run reports what would change',
    body: z.strictObject({
      to: Place,
      paths: listOf(Path, { min: 1, max: 1000 }).optional(),
      dryRun: z.boolean().optional(),
      why: Text.max(2000).optional(),
    }),
    answer: RestoredFilesView,
    handle: async ({ session, body: { to, ...options } }) => await session.files.restore(to, options),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/artifacts',
    name: 'listArtifacts',
    verb: 'artifacts.list',
    summary: 'The artifacts of the session',
    answer: ArtifactsView,
    handle: async ({ session }) => ({ artifacts: await session.artifacts.list() }),
  }),
  defineSessionRoute({
    method: 'GET',
    path: '/v1/sessions/{session}/artifacts/{name}',
    name: 'readArtifact',
    verb: 'artifacts.read',
    summary: 'Downloads an artifact',
    params: { name: ArtifactName },
    answer: bytes,
    handle: async ({ session, held, params }) =>
      download({ held }, await session.artifacts.read(params.name), params.name),
  }),
  defineSessionRoute({
    method: 'PUT',
    path: '/v1/sessions/{session}/artifacts/{name}',
    name: 'keepArtifact',
    verb: 'artifacts.keep',
    summary: 'Keeps the body as an artifact; with `path`, a file of the session',
    params: { name: ArtifactName },
    query: { mediaType: Text.min(1).max(200).optional(), path: Path.optional() },
    body: bytes,
    maxBytes: maxContentBytes,
    keyKeptBy: 'library',
    answer: ArtifactView,
    handle: async ({ session, params, query: { path, mediaType }, content, idempotencyKey }) => {
      const kept = path === undefined ? await bodyOf({ content }) : { path };
      return await session.artifacts.keep(params.name, kept, { mediaType, idempotencyKey });
    },
  }),
];
