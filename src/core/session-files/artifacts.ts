import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { execute } from '../engine/execute.ts';
import type { FilesAccess, HandleAccess, LogAccess, WriteAccess } from '../engine/scope.ts';
import { contentBytes } from '../files/content-bytes.ts';
import { newArtifact } from '../files/new-artifact.ts';
import { readContent, treeReader } from '../files/read-tree.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionCommand } from '../session/decide.ts';
import { type Artifact, artifactOf } from '../session/files-fold.ts';
import { parseFilePath } from './file-path.ts';
import { fileAt } from './find-file.ts';
import { treeAt } from './read-files.ts';

const KeepOptions = z.strictObject({
  /** By default derived from the file extension of the name, or from the content. */
  mediaType: Text.min(1).max(200).optional(),
  idempotencyKey: CallersKey.optional(),
});
export type KeepOptions = z.input<typeof KeepOptions>;

/** Artifacts: content stored by name for people. A rewind does not remove them. */
export interface SessionArtifacts {
  /** Stores bytes, text, or the current content of a session file. Replaces an artifact of the same name. */
  keep(
    name: string,
    content: Uint8Array | string | { readonly path: string },
    options?: KeepOptions,
  ): Promise<Artifact>;
  /** The newest artifact of each name, sorted by name. */
  list(): Promise<readonly Artifact[]>;
  /** The content of the newest artifact of this name. */
  read(name: string): Promise<Uint8Array>;
}

const FileRef = z.strictObject({ path: Text }, { error: 'expected bytes, text or { path }' });

const isContent = (content: unknown): content is Uint8Array | string =>
  typeof content === 'string' || content instanceof Uint8Array;

/** A file's content and its normalized path. */
const fileContent = async (scope: LogAccess & FilesAccess, key: SessionKey, ref: unknown) => {
  const place = parseFilePath(parseInput('the content', FileRef, ref).path);
  const { hash } = await fileAt(treeReader(scope.blobs), await treeAt(scope, key, {}), place);
  return { bytes: await readContent(scope.blobs, hash), path: place.path };
};

const isSame = (kept: Artifact | undefined, { mediaType, blob, path }: PayloadOf<'artifact.kept'>): boolean =>
  kept?.blob === blob && kept.mediaType === mediaType && kept.path === path;

const keepArtifact = async (
  scope: WriteAccess & FilesAccess,
  key: SessionKey,
  name: string,
  content: unknown,
  options: KeepOptions = {},
): Promise<Artifact> => {
  const { mediaType, idempotencyKey } = parseInput('the artifact', KeepOptions, options);
  const { bytes, path } = isContent(content)
    ? { bytes: contentBytes(name, content), path: undefined }
    : await fileContent(scope, key, content);
  const redactor = await scope.secrets.redactor();
  const artifact = await newArtifact({ blobs: scope.blobs, redactor }, name, bytes, { mediaType, path });
  let kept: Artifact | undefined;
  const command = async ({ artifacts }: { readonly artifacts: Readonly<Record<string, Artifact>> }) => {
    kept = Object.hasOwn(artifacts, name) ? artifacts[name] : undefined;
    return isSame(kept, artifact) ? undefined : ({ type: 'keep', artifact } satisfies SessionCommand);
  };
  const body = { keep: name, mediaType, content: isContent(content) ? artifact.blob : { path } };
  const [event] = await execute(scope, key, command, { idempotencyKey, body });
  return event ? artifactOf(event as SessionEvent<'artifact.kept'>) : kept!;
};

const artifactsOf = async (scope: LogAccess, key: SessionKey): Promise<readonly Artifact[]> =>
  Object.values((await scope.folds.outline(key)).artifacts).sort((a, b) => (a.name < b.name ? -1 : 1));

const shownNames = 5;

const readArtifact = async (scope: LogAccess & FilesAccess, key: SessionKey, name: string): Promise<Uint8Array> => {
  const wanted = parseInput('the name', Text, name);
  const all = await artifactsOf(scope, key);
  const artifact = all.find((each) => each.name === wanted);
  if (artifact) return readContent(scope.blobs, artifact.blob);
  const names = all.slice(0, shownNames).map((each) => each.name);
  const there = names.length > 0 ? `the session has ${names.join(', ')}` : 'the session has none';
  throw new PerdureError('FILE_NOT_FOUND', `there is no artifact ${wanted}: ${there}`, { details: { name: wanted } });
};

export const sessionArtifacts = (scope: WriteAccess & FilesAccess & HandleAccess, key: SessionKey): SessionArtifacts =>
  scope.give<SessionArtifacts>('artifacts', {
    keep: (name, content, options) => keepArtifact(scope, key, name, content, options),
    list: () => artifactsOf(scope, key),
    read: (name) => readArtifact(scope, key, name),
  });
