import { createHash } from 'node:crypto';
import { constants, createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import { invalidInput } from '../../schema/parse-input.ts';
import type { NewBlob } from '../ports/blobs.ts';
import type { SessionCopy, StoredEvent, StoredKey } from '../ports/store.ts';
import { type BlobNaming, blobNamedBy, isBlobEvent, type NamedBlob } from '../session/events/blob-events.ts';
import { genesisHash, linkProblem } from '../session/events/chain.ts';
import { decodePayload } from '../session/events/event-codec.ts';
import { type BlobOptions, BundleBlobs } from './bundle-blobs.ts';
import { BundleHeader, BundleLine, bundleInvalid, bundleTooLarge, endLine, maxLineBytes } from './bundle-format.ts';
import { unsealed } from './bundle-seal.ts';
import { transformed } from './transformed.ts';
import { zstdMagic } from './zstd-frame.ts';

const pieceEvents = 256;
const pieceBytes = 4 * 1024 * 1024;

/** The largest window that RFC 8878 asks every decoder to support. No release has used a larger one. */
const decompression = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };

const isCompressed = (start: Uint8Array): boolean => zstdMagic.equals(start.subarray(0, zstdMagic.length));

const firstBytes = async (chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array> => {
  let start = Buffer.alloc(0);
  while (start.length < zstdMagic.length) {
    const { value, done } = await chunks.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  return start;
};

async function* whole(start: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  yield start;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** Yields the decompressed bytes. Accepts plain and compressed bundles, which differ in their first bytes. */
async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    const start = await firstBytes(chunks);
    const bytes = whole(start, chunks);
    yield* isCompressed(start) ? transformed(unsealed(bytes), createZstdDecompress(decompression)) : bytes;
  } finally {
    // Not awaited: a source that is slow to deliver its next bytes is also slow to end.
    chunks.return?.()?.catch(() => undefined);
  }
}

async function* within(
  source: AsyncIterable<Uint8Array>,
  { signal, maxBytes = Number.POSITIVE_INFINITY }: ReadBundleOptions,
): AsyncGenerator<Uint8Array, void, void> {
  let bytes = 0;
  for await (const chunk of source) {
    if (signal?.aborted) throw importEnded();
    bytes += chunk.length;
    if (bytes > maxBytes) throw bundleTooLarge('the bundle', maxBytes);
    yield chunk;
  }
}

async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  let restBytes = 0;
  for await (const chunk of source) {
    const end = chunk.lastIndexOf(lineFeed);
    restBytes = end < 0 ? restBytes + chunk.length : chunk.length - end - 1;
    if (restBytes > maxLineBytes) throw bundleInvalid(`a line has more than ${maxLineBytes} bytes`);
    const parts = decoder.decode(chunk, { stream: true }).split('\n');
    parts[0] = rest + parts[0];
    rest = parts.pop()!;
    yield* parts;
  }
  if (rest + decoder.decode() !== '') throw bundleInvalid('it is cut off in the middle of a line');
}

const lineFeed = 10;

const parseLine = <S extends z.ZodType>(schema: S, line: string, number: number): z.infer<S> => {
  try {
    return schema.parse(JSON.parse(line));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? invalidInput('the line', cause).message : 'it is not JSON';
    throw bundleInvalid(`line ${number}: ${why}`, cause);
  }
};

const storedEvent = ({ body, hash, ...rest }: Extract<BundleLine, { event: unknown }>['event']): StoredEvent => ({
  ...rest,
  hash: Buffer.from(hash, 'hex'),
  body:
    'redacted' in body
      ? { kind: 'redacted', digest: Buffer.from(body.redacted, 'hex') }
      : { kind: 'bytes', salt: Buffer.from(body.salt, 'hex'), bytes: Buffer.from(body.payload, 'utf8') },
});

type Link = { readonly seq: number; readonly hash: Uint8Array };

/**
 * Checks the hash chains of all sessions of a bundle as it is read. Keeps only the hashes that children continue from.
 */
class ChainCheck {
  readonly #header: BundleHeader;
  readonly #newest = new Map<SessionId, Link>();
  readonly #forkPoints = new Map<string, Link | undefined>();

  constructor(header: BundleHeader) {
    this.#header = header;
    const earlier = new Set<SessionId>();
    for (const { session, parent, seq } of header.sessions) {
      if (earlier.has(session)) throw bundleInvalid(`${session} is listed twice`);
      if (parent && !earlier.has(parent.session))
        throw bundleInvalid(`the parent of ${session} is not listed before it`);
      if (parent && seq <= parent.seq) throw bundleInvalid(`${session} has no events of its own`);
      if (parent) this.#forkPoints.set(pointName(parent), undefined);
      earlier.add(session);
    }
  }

  entry(session: SessionId): BundleHeader['sessions'][number] {
    const entry = this.#header.sessions.find((each) => each.session === session);
    if (!entry) throw bundleInvalid(`${session} is not listed in its header`);
    return entry;
  }

  add(event: StoredEvent): void {
    const { session, seq } = event;
    const problem = linkProblem(this.#newest.get(session) ?? this.#start(session), event);
    if (problem) throw bundleInvalid(`event ${seq} of ${session}: ${problem}`);
    this.#newest.set(session, event);
    if (this.#forkPoints.has(pointName(event))) this.#forkPoints.set(pointName(event), { seq, hash: event.hash });
  }

  /** A key must name events of its session, because a repeated append returns these events. */
  addKey(session: SessionId, { key, seq, count }: StoredKey): void {
    const { parent, seq: end } = this.entry(session);
    if (seq > (parent?.seq ?? 0) && seq + count - 1 <= end) return;
    throw bundleInvalid(`the key ${key} of ${session} refers to events that the session does not have`);
  }

  finish(): void {
    for (const { session, seq, hash } of this.#header.sessions) {
      const last = this.#newest.get(session);
      if (last?.seq !== seq || Buffer.from(last.hash).toString('hex') !== hash) {
        throw bundleInvalid(`${session} does not end at event ${seq} as its header says`);
      }
    }
  }

  #start(session: SessionId): Link {
    const { parent } = this.entry(session);
    if (!parent) return { seq: 0, hash: genesisHash };
    const point = this.#forkPoints.get(pointName(parent));
    if (!point) throw bundleInvalid(`the event that ${session} was forked from does not come before it`);
    return point;
  }
}

const pointName = ({ session, seq }: { session: SessionId; seq: number }): string => `${session}/${seq}`;

/** Returns the blob that an event names. Returns undefined for redacted events and for events of later releases. */
const namedBy = (event: StoredEvent): NamedBlob | undefined => {
  if (event.body.kind !== 'bytes' || !isBlobEvent(event.type)) return undefined;
  try {
    return blobNamedBy({ type: event.type, payload: decodePayload(event, event.type) } as BlobNaming);
  } catch (error) {
    if (isPerdureError(error, 'EVENT_UNSUPPORTED')) return undefined;
    throw bundleInvalid(`event ${event.seq} of ${event.session}: ${(error as Error).message}`, error);
  }
};

export interface ReadBundleOptions extends BlobOptions {
  /** Aborting this signal ends the reading, however much is left. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum bytes of all lines, because a few compressed bytes can expand to any size. */
  readonly maxBytes?: number | undefined;
}

export const importEnded = (): PerdureError =>
  new PerdureError(
    'RUNTIME_CLOSED',
    'the import was aborted, or its runtime closed: nothing was imported, import again',
  );

/** A blob, if blobs are requested, or a part of a session's own events. All blobs precede the sessions. */
export type BundleItem = { readonly blob: NewBlob } | { readonly copy: SessionCopy };

async function* itemsOf(
  lines: AsyncGenerator<string, void, void>,
  options: BlobOptions,
): AsyncGenerator<BundleItem, void, void> {
  const digest = createHash('sha256');
  let count = 0;
  let check: ChainCheck | undefined;
  const blobs = new BundleBlobs(options);
  let ended = false;
  let events: StoredEvent[] = [];
  let bytes = 0;
  const piece = function* (): Generator<BundleItem> {
    const session = events[0]?.session;
    if (session && check) yield { copy: { session, parent: check.entry(session).parent, events, keys: [] } };
    events = [];
    bytes = 0;
  };
  for await (const line of lines) {
    if (ended) throw bundleInvalid('it has data after its end');
    count += 1;
    if (!check) {
      check = new ChainCheck(parseLine(BundleHeader, line, count));
    } else {
      const content = parseLine(BundleLine, line, count);
      if ('blob' in content || 'piece' in content) {
        const blob = 'blob' in content ? blobs.announce(content.blob) : blobs.add(content.piece);
        if (blob) yield { blob };
      } else if ('event' in content) {
        blobs.end();
        const event = storedEvent(content.event);
        check.add(event);
        const named = namedBy(event);
        const problem = named && blobs.problemOf(named);
        if (problem) throw bundleInvalid(`event ${event.seq} of ${event.session}: ${problem}`);
        if (events[0] && events[0].session !== event.session) yield* piece();
        events.push(event);
        bytes += line.length;
        if (events.length >= pieceEvents || bytes >= pieceBytes) yield* piece();
      } else if ('key' in content) {
        yield* piece();
        const { session, ...key } = content.key;
        check.addKey(session, key);
        yield { copy: { session, parent: check.entry(session).parent, events: [], keys: [key] } };
      } else {
        blobs.end();
        if (line !== endLine(count - 1, digest)) throw bundleInvalid('its checksum does not match');
        ended = true;
        continue;
      }
    }
    digest.update(`${line}\n`);
  }
  if (!ended || !check) throw bundleInvalid('its end is missing');
  check.finish();
  yield* piece();
}

/**
 * Yields the content of a bundle, checked as it is read. An error at the very end still throws. It rolls back the
 * whole import, which is one transaction.
 */
export async function* readBundle(
  source: AsyncIterable<Uint8Array>,
  options: ReadBundleOptions = {},
): AsyncGenerator<BundleItem, void, void> {
  try {
    yield* itemsOf(linesOf(within(decompressed(source), options)), options);
  } catch (cause) {
    if (cause instanceof PerdureError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code?.startsWith('ERR_') || code?.startsWith('ZSTD_') || code?.startsWith('Z_')) {
      throw bundleInvalid('its bytes are damaged', cause);
    }
    throw cause;
  }
}
