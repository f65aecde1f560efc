import { PerdureError } from '../../schema/error.ts';
import { ArtifactName, type PayloadOf } from '../../schema/event.ts';
import type { Blobs } from '../ports/blobs.ts';
import { hashOf } from './tree.ts';

export const maxArtifactBytes = 32 * 1024 * 1024;

const invalid = (message: string): PerdureError => new PerdureError('INVALID_INPUT', `the artifact: ${message}`);

const mediaTypeOf = (content: Uint8Array | string): string =>
  typeof content === 'string' ? 'text/plain' : 'application/octet-stream';

/** Its content is in the store when this returns; the event that names it is the caller's to write. */
export const newArtifact = async (
  blobs: Blobs,
  name: string,
  content: Uint8Array | string,
  { mediaType = mediaTypeOf(content), path }: { readonly mediaType?: string; readonly path?: string } = {},
): Promise<PayloadOf<'artifact.kept'>> => {
  const problem = ArtifactName.safeParse(name).error?.issues[0]?.message;
  if (problem) throw invalid(`its name: ${problem}`);
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  if (!(bytes instanceof Uint8Array)) throw invalid('expected bytes or text');
  if (bytes.length > maxArtifactBytes) {
    throw new PerdureError('PAYLOAD_TOO_LARGE', `${name} has ${bytes.length} bytes: keep at most ${maxArtifactBytes}`);
  }
  const blob = hashOf(bytes);
  await blobs.putBlobs([{ hash: blob, bytes }]);
  return { name, mediaType, size: bytes.length, blob, ...(path !== undefined && { path }) };
};
