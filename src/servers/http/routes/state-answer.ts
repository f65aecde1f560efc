import { createHash } from 'node:crypto';
import { eventLoop } from '../../../core/ports/event-loop.ts';
import { stateTag } from '../../../core/state/commit.ts';
import { PerdureError } from '../../../schema/error.ts';
import type { Json } from '../../../schema/json.ts';
import { jsonSteps } from '../../../schema/json-steps.ts';
import { escapeSegment } from '../../../schema/pointer.ts';
import type { ShownState } from '../../../schema/state.ts';
import { matchesEtag } from '../etag-match.ts';
import { jsonBytes, jsonBytesUpTo } from '../json-text.ts';

/** A larger state is read in parts. One value without parts may be as large as the event that set it. */
const maxBytes = 4 * 1024 * 1024;
const shownPaths = 5;

function* sizeSteps(value: unknown): Generator<void, number, void> {
  let bytes = 0;
  for (const piece of jsonSteps(value)) {
    bytes += Buffer.byteLength(piece);
    yield;
  }
  return bytes;
}

/** The largest parts, each with its size in bytes. */
function* largestSteps(value: object, path: string): Generator<void, readonly (readonly [string, number])[], void> {
  const sizes: [string, number][] = [];
  for (const [name, part] of Object.entries(value)) {
    sizes.push([`${path}/${escapeSegment(name)}`, yield* sizeSteps(part)]);
  }
  return sizes.sort(([, a], [, b]) => b - a).slice(0, shownPaths);
}

const tooLarge = async (value: object, path: string): Promise<PerdureError> => {
  const largest = await eventLoop.drain(largestSteps(value, path));
  const names = largest.map(([name, bytes]) => `${name} (${bytes} bytes)`).join(', ');
  return new PerdureError(
    'PAYLOAD_TOO_LARGE',
    `the state${path === '' ? '' : ` at ${path}`} is over the limit of ${maxBytes} bytes: ask for a part of it with \`path\`; the largest are ${names}`,
    { details: { maxBytes, paths: largest.map(([name]) => name) } },
  );
};

const contentOf = async (value: unknown, path: string): Promise<Buffer<ArrayBuffer>> => {
  if (value === null || typeof value !== 'object') return jsonBytes(value);
  const content = await jsonBytesUpTo(value, maxBytes);
  if (!content) throw await tooLarge(value, path);
  return content;
};

const unchanged = (etag: string): Response => new Response(null, { status: 304, headers: { etag } });

const answerWith = (content: Buffer<ArrayBuffer>, etag: string): Response =>
  new Response(content, { headers: { 'content-type': 'application/json', etag } });

const hashOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('base64url');

/**
 * The tag of the state that a commit expects, and after a dot that of `waiting`, which changes without a commit.
 */
const tagOf = async (state: ShownState): Promise<string> =>
  `${await stateTag(state)}.${hashOf(await jsonBytes(state.waiting)).slice(0, 16)}`;

/** The part of an ETag that names the committed state. */
export const committedPart = (etag: string): string => etag.split('.', 1)[0]!;

/** Answers with the whole state. Its tag is the one that `if-match` of a commit accepts. */
export const answerState = async (state: ShownState, headers: Headers): Promise<Response> => {
  const etag = `"${await tagOf(state)}"`;
  return matchesEtag(headers, etag) ? unchanged(etag) : answerWith(await contentOf(state, ''), etag);
};

/** Answers with a part of the state. The tag is that of the part, so that other changes do not change it. */
export const answerPart = async (part: Json, path: string, headers: Headers): Promise<Response> => {
  const content = await contentOf(part, path);
  const etag = `"${hashOf(content)}"`;
  return matchesEtag(headers, etag) ? unchanged(etag) : answerWith(content, etag);
};
