import { PerdureError } from '../../schema/error.ts';
import { ArtifactName, type PayloadOf } from '../../schema/event.ts';
import { mediaTypeOf } from '../../schema/media-type.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { contentBytes, refuseLargeContent } from './content-bytes.ts';
import { hashContent } from './tree.ts';

const invalid = (message: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `the artifact is not valid: ${message}`);

/** Stores the redacted content of an artifact. The caller must append the event that names it. */
export const newArtifact = async (
  { blobs, redactor }: { readonly blobs: Blobs; readonly redactor: Redactor },
  name: string,
  content: Uint8Array | string,
  { mediaType, path }: { readonly mediaType?: string | undefined; readonly path?: string | undefined } = {},
): Promise<PayloadOf<'artifact.kept'>> => {
  const problem = ArtifactName.safeParse(name).error?.issues[0]?.message;
  if (problem) throw invalid(`its name: ${problem}`);
  if (redactor.text(name) !== name) throw invalid('its name contains a secret');
  const bytes = redactor.bytes(contentBytes(name, content));
  refuseLargeContent(name, bytes);
  const blob = await hashContent(bytes);
  await blobs.putBlobs([{ hash: blob, bytes }]);
  return {
    name,
    mediaType: mediaType ?? mediaTypeOf(name, bytes),
    size: bytes.length,
    blob,
    ...(path !== undefined && { path }),
  };
};
