import { createHash } from 'node:crypto';
import { createZstdCompress } from 'node:zlib';
import { PerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import { reachOf, readBlobEvents } from '../engine/blob-events.ts';
import { readForward } from '../engine/read-log.ts';
import { type FilesAccess, keyOf, type LogAccess, type SightAccess, type WriteAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import { blobProblemOf, Reach, readAhead } from '../files/reach.ts';
import { damageOf } from '../maintenance/describe-damage.ts';
import { pointBefore } from '../maintenance/point-before.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { Head, Store, StoredEvent } from '../ports/store.ts';
import { genesisHash, linkProblem } from '../session/events/chain.ts';
import { ownAncestor } from '../session/events/session-damaged.ts';
import { type BundleHeader, type BundleLine, bundleVersion, endLine, maxBlobBytes } from './bundle-format.ts';
import { sealed } from './bundle-seal.ts';
import { type BundledFork, bundledFork } from './bundled-fork.ts';
import { transformed } from './transformed.ts';

/** The maximum bytes of a blob in one line. */
const pieceBytes = 192 * 1024;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

interface Wanted {
  readonly head: Head;
  readonly seq: number;
  readonly store: Store;
}

/** A session to export, up to a seq. */
interface Target {
  readonly session: SessionId;
  readonly upTo: number;
}

type LineageAccess = LogAccess & Pick<SightAccess, 'whole'>;

/**
 * The sessions and all their ancestors, parents first, each up to the last event that any of them needs. The lineage of
 * a fork contains these events, so the caller need not see the ancestors. The sessions that were asked for are read as
 * the caller sees them, at every page.
 */
const withAncestors = async (
  scope: LineageAccess,
  asked: readonly SessionId[],
  targets: readonly Target[],
): Promise<readonly Wanted[]> => {
  const wanted = new Map<SessionId, Wanted>();
  for (const { session: id, upTo } of targets) {
    let seq = upTo;
    const line: Wanted[] = [];
    for (let next: SessionId | undefined = id; next; ) {
      if (line.some(({ head }) => head.session === next)) throw ownAncestor(id);
      const { store }: { readonly store: Store } = asked.includes(next) ? scope : scope.whole;
      const head: Head | undefined = await store.head(keyOf(scope, next));
      if (!head) throw sessionNotFound(keyOf(scope, next));
      const known = wanted.get(next);
      line.unshift({ head, store, seq: Math.max(known?.seq ?? 0, Math.min(seq, head.seq)) });
      seq = Math.min(seq, head.parent?.seq ?? 0);
      next = head.parent?.session;
    }
    for (const each of line) wanted.set(each.head.session, each);
  }
  return [...wanted.values()];
};

const eventLine = (event: StoredEvent): BundleLine => {
  const { opensTurn, body, hash, ...header } = event;
  const { session, seq, at, turn, run, type, version, actor } = header;
  const kept =
    body.kind === 'bytes'
      ? { salt: hex(body.salt), payload: Buffer.from(body.bytes).toString('utf8') }
      : { redacted: hex((body as { digest: Uint8Array }).digest) };
  return {
    event: {
      session,
      seq,
      at,
      turn,
      ...(run && { run }),
      type,
      version,
      actor,
      opensTurn,
      body: kept,
      hash: hex(hash),
    },
  };
};

/** The error for an event that was damaged while the bundle is written, so that every bundle holds verified events. */
const damaged = (session: SessionId, seq: number, reason: string): PerdureError =>
  new PerdureError(
    'EVENT_DAMAGED',
    `event ${seq} of ${session} cannot be exported: ${reason}; run \`perdure verify ${session}\``,
    {
      details: { session, seq, reason },
    },
  );

async function* sessionLines(
  scope: LogAccess,
  { head, store, seq: upTo }: Wanted,
): AsyncGenerator<BundleLine, void, void> {
  const key = keyOf(scope, head.session);
  const forkedAt = head.parent?.seq ?? 0;
  const [point] = forkedAt > 0 ? await store.read(key, { after: forkedAt - 1, upTo: forkedAt, limit: 1 }) : [];
  let previous: { seq: number; hash: Uint8Array } = point ?? { seq: 0, hash: genesisHash };
  for await (const event of readForward(store, key, { after: previous.seq, upTo })) {
    const problem = linkProblem(previous, event);
    if (problem) throw damaged(head.session, event.seq, problem);
    yield eventLine(event);
    previous = event;
  }
  for (const used of await store.keys(key)) {
    if (used.seq + used.count - 1 <= upTo) yield { key: { session: head.session, ...used } };
  }
}

function* blobLines(kind: 'tree' | 'content', hash: BlobHash, bytes: Uint8Array): Generator<BundleLine> {
  if (bytes.length > maxBlobBytes[kind]) {
    throw new PerdureError(
      'PAYLOAD_TOO_LARGE',
      `the blob ${hash} has ${bytes.length} bytes: a bundle can hold blobs of up to ${maxBlobBytes[kind]}`,
    );
  }
  yield { blob: { hash, kind, size: bytes.length } };
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    yield { piece: Buffer.from(bytes.subarray(at, at + pieceBytes)).toString('base64') };
  }
}

/**
 * Yields the lines of all blobs that the events of the sessions name. Each blob occurs once, and a tree follows
 * everything that it names.
 */
async function* namedLines(
  scope: LogAccess & FilesAccess,
  wanted: readonly Wanted[],
): AsyncGenerator<BundleLine, void, void> {
  const reach = new Reach(scope.blobs);
  for (const { head, store, seq: upTo } of wanted) {
    for await (const { event, named } of readBlobEvents(store, scope.workspace, head.session, upTo)) {
      try {
        for await (const { kind, hash, bytes } of readAhead(scope.blobs, reachOf(reach, named))) {
          yield* blobLines(kind, hash, bytes);
        }
      } catch (error) {
        const problem = blobProblemOf(error);
        throw problem ? damaged(head.session, event.seq, problem.reason) : error;
      }
    }
  }
}

type ExportAccess = WriteAccess & FilesAccess & LineageAccess;

/** Refuses sessions whose rows lead nowhere, before their logs are checked. */
const refuseLoops = (scope: LineageAccess, ids: readonly SessionId[]): Promise<unknown> =>
  withAncestors(
    scope,
    ids,
    ids.map((session) => ({ session, upTo: Number.POSITIVE_INFINITY })),
  );

/** Checks the logs. A damaged session is exported up to its last good event, with a fork that says what is lost. */
const targetsOf = async (
  scope: ExportAccess,
  ids: readonly SessionId[],
): Promise<{ readonly targets: readonly Target[]; readonly forks: readonly BundledFork[] }> => {
  await refuseLoops(scope, ids);
  const targets: Target[] = [];
  const forks: BundledFork[] = [];
  for (const session of new Set(ids)) {
    const key = keyOf(scope, session);
    const damage = await damageOf(scope, key);
    if (damage) {
      const fork = await bundledFork(scope, key, await pointBefore(scope, key, damage), damage);
      targets.push({ session: fork.parent.session, upTo: fork.parent.seq });
      forks.push(fork);
    } else {
      const isQuarantined = (await scope.store.head(key))?.summary.damaged !== undefined;
      const upTo = isQuarantined ? await pointBefore(scope, key, undefined) : Number.POSITIVE_INFINITY;
      targets.push({ session, upTo });
    }
  }
  return { targets, forks };
};

const forkEntry = ({ session, parent, events }: BundledFork): BundleHeader['sessions'][number] => {
  const { seq, hash } = events.at(-1)!;
  return { session, parent, seq, hash: hex(hash) };
};

async function* bundleLines(scope: ExportAccess, ids: readonly SessionId[]): AsyncGenerator<string, void, void> {
  const { targets, forks } = await targetsOf(scope, ids);
  const wanted = await withAncestors(scope, ids, targets);
  const sessions = await Promise.all(
    wanted.map(async ({ head, store, seq }): Promise<BundleHeader['sessions'][number]> => {
      const [last] = await store.read(keyOf(scope, head.session), { after: seq - 1, upTo: seq, limit: 1 });
      if (!last) throw damaged(head.session, seq, 'it is missing');
      return { session: head.session, ...(head.parent && { parent: head.parent }), seq, hash: hex(last.hash) };
    }),
  );
  const digest = createHash('sha256');
  let lines = 0;
  const line = (content: BundleHeader | BundleLine): string => {
    const text = `${JSON.stringify(content)}\n`;
    digest.update(text);
    lines += 1;
    return text;
  };
  yield line({ bundle: 'perdure', version: bundleVersion, sessions: [...sessions, ...forks.map(forkEntry)] });
  for await (const content of namedLines(scope, wanted)) yield line(content);
  for (const each of wanted) for await (const content of sessionLines(scope, each)) yield line(content);
  for (const { events } of forks) for (const event of events) yield line(eventLine(event));
  yield `${endLine(lines, digest)}\n`;
}

/** Returns one portable file with the sessions and the lineage they need, as a stream of bytes. */
export const writeBundle = (scope: ExportAccess, ids: readonly SessionId[]): AsyncIterable<Uint8Array> =>
  sealed(transformed(bundleLines(scope, ids), createZstdCompress()));
