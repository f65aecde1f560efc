import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { WorkspaceId } from '../../src/schema/ids.ts';
import { failureOf } from '../support/failure-of.ts';
import { contentOf, filesOf, keepArtifact, putFiles, snapshotFiles } from '../support/files/named-files.ts';
import { sealedLines } from '../support/stores/made-bundle.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const collect = async (source: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
};

async function* inChunks(bytes: Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const hashes = async (session: Session): Promise<string[]> => {
  const seen: string[] = [];
  for await (const { hash } of session.events()) seen.push(hash);
  return seen;
};

const linesOf = (bundle: Uint8Array): string[] =>
  zstdDecompressSync(bundle).toString().trimEnd().split('\n').slice(0, -1);

describe.each(storeKinds.flatMap((from) => storeKinds.map((to) => [from, to] as const)))(
  'a bundle from %s to %s',
  (from, to) => {
    const places: StorePlace[] = [];
    let source: Runtime;
    let sourceStore: RuntimeStore;
    let target: Runtime;
    let number = 0;
    /** Each import goes into a new workspace of the target. */
    const elsewhere = () => target.as({ workspace: `import-${++number}`, member: 'local', role: 'admin' }).sessions;

    beforeAll(async () => {
      for (const kind of [from, to]) places.push(await newStorePlace(kind));
      sourceStore = await openStoreAt(places[0]!.address);
      source = await openRuntime({ store: sourceStore });
      target = await openRuntime({ store: places[1]!.address });
    });
    afterAll(async () => {
      await source.close();
      await target.close();
      for (const place of places) await place.remove();
    });

    const family = async () => {
      const session = await source.sessions.open({ title: 'Zürich ☃ 🎿' });
      await session.append(
        [
          { role: 'user', content: 'first' },
          { role: 'assistant', content: 'x'.repeat(40_000) },
        ],
        {
          idempotencyKey: 'k1',
        },
      );
      for (let turn = 2; turn <= 300; turn++) {
        await session.append([
          { role: 'user', content: `ask ${turn}` },
          { role: 'assistant', content: `reply ${turn}` },
        ]);
      }
      const fork = await session.fork({ at: { turn: 250 } });
      await fork.append({ role: 'user', content: 'another way' });
      const grandchild = await fork.fork();
      await session.rewind({ to: { turn: 3 } });
      return { session, fork, grandchild };
    };

    test('[BUN1, HASH2] holds a session with its lineage, and the imported events have the same hashes', async () => {
      const { session, grandchild } = await family();
      const sessions = elsewhere();
      const imported = await sessions.import(inChunks(await collect(grandchild.export())));
      expect(imported.sessions.map(({ added }) => added)).toEqual([501, 2, 1]);
      const copy = await sessions.get(grandchild.id);
      expect(await hashes(copy)).toEqual(await hashes(grandchild));
      const said = async (session: Session) =>
        (await session.transcript()).entries.map(({ actor: _, ...entry }) => entry);
      expect(await said(copy)).toEqual(await said(grandchild));
      expect(await copy.summary()).toEqual({ ...(await grandchild.summary()), tainted: ['import'] });
      expect(await copy.verify()).toEqual(await grandchild.verify());
      expect((await copy.tree()).summary.id).toBe(session.id);
    });

    test('[BUN2, KEY1] changes nothing when imported twice; a longer copy adds the new events and keys', async () => {
      const { session, fork } = await family();
      const sessions = elsewhere();
      await sessions.import(inChunks(await collect(fork.export())));
      const whole = await collect(source.sessions.export([session.id, fork.id]));
      const added = await sessions.import(inChunks(whole));
      expect(added.sessions).toEqual([
        { session: session.id, added: 101 },
        { session: fork.id, added: 0 },
      ]);
      const copy = await sessions.get(session.id);
      const before = await copy.summary();
      const again = await sessions.import(inChunks(whole));
      expect(again.sessions.every((each) => each.added === 0)).toBe(true);
      expect(await copy.summary()).toEqual(before);
      expect(await hashes(copy)).toEqual(await hashes(session));
      const first = await copy.append(
        [
          { role: 'user', content: 'first' },
          { role: 'assistant', content: 'x'.repeat(40_000) },
        ],
        {
          idempotencyKey: 'k1',
        },
      );
      expect(first[0]!.seq).toBe(2);
      await copy.append({ role: 'user', content: 'mine' });
      await session.append({ role: 'user', content: 'theirs' });
      const error = await failureOf(sessions.import(inChunks(await collect(session.export()))));
      expect(error).toMatchObject({ code: 'BUNDLE_CONFLICT', details: { session: session.id } });
    });

    test('[BUN1, BUN2, BUN5] holds the files of its sessions, including those of inherited events, once each', async () => {
      const workspace = WorkspaceId.parse(`files-${++number}`);
      const large = 'large '.repeat(200_000);
      const one = filesOf({ 'src/a': 'a', 'src/large': large, 'src/again': large });
      const two = filesOf({ 'src/a': 'a', 'src/large': large, b: '' });
      const later = filesOf({ later: 'not of the fork' });
      const artifact = contentOf('artifact');
      const { sessions } = source.as({ workspace, member: 'ann', role: 'admin' });
      const session = await sessions.open();
      await putFiles(sourceStore, workspace, [...one, ...two, ...later, artifact]);
      const keyOf = ({ id }: Session) => ({ workspace, session: id });
      await snapshotFiles(sourceStore, keyOf(session), one);
      const fork = await session.fork();
      await snapshotFiles(sourceStore, keyOf(session), later);
      await snapshotFiles(sourceStore, keyOf(fork), two);
      await keepArtifact(sourceStore, keyOf(fork), 'notes', artifact);
      const bundle = await collect(fork.export());
      const blobs = linesOf(bundle).flatMap((line) => JSON.parse(line).blob?.hash ?? []);
      expect(blobs.toSorted()).toEqual([...new Set([...one, ...two, artifact].map(({ hash }) => hash))].toSorted());
      const copies = target.as({ workspace: `import-${++number}`, member: 'ann', role: 'admin' });
      const dryRun = async () => copies.gc({ dryRun: true });
      await copies.sessions.import(inChunks(bundle));
      const copy = await copies.sessions.get(fork.id);
      expect(await copy.verify()).toEqual(await fork.verify());
      const after = await dryRun();
      expect(after).toMatchObject({ named: blobs.length, young: { blobs: 0 }, garbage: { blobs: 0 } });
      await copies.sessions.import(inChunks(bundle));
      expect(await dryRun()).toEqual(after);
      expect(linesOf(await collect(copy.export()))).toEqual(linesOf(bundle));
    });

    test('[BUN5] restores blobs that are missing in the target; an export ends before an event that names a missing blob', async () => {
      const name = `files-${++number}`;
      const workspace = WorkspaceId.parse(name);
      const { sessions } = source.as({ workspace, member: 'ann', role: 'admin' });
      const session = await sessions.open();
      const files = filesOf({ 'a/b': 'b', c: 'c' });
      await putFiles(sourceStore, workspace, files);
      await snapshotFiles(sourceStore, { workspace, session: session.id }, files);
      const bundle = await collect(session.export());
      for (const { hash } of files) {
        await places[0]!.edit((_, prefix) => {
          const value = from === 'sqlite' ? `unhex('${hash}')` : `'\\x${hash}'`;
          return `delete from ${prefix}blobs where workspace = '${name}' and hash = ${value}`;
        });
        expect(await session.damage()).toMatchObject({ session: session.id, seq: 2, good: 1 });
        const [header] = linesOf(await collect(session.export()));
        expect(JSON.parse(header!).sessions).toMatchObject([{ session: session.id, seq: 1 }, { seq: 2 }]);
        await sessions.import(inChunks(bundle));
        expect(await session.verify()).toMatchObject({ ok: true });
      }
      expect(linesOf(await collect(session.export()))).toEqual(linesOf(bundle));
    });

    test('[FAULT1] delays no other request while it arrives slowly', async () => {
      const session = await source.sessions.open();
      await session.append({ role: 'user', content: 'slow' });
      const bytes = await collect(session.export());
      const sessions = elsewhere();
      const { promise: rest, resolve: sendRest } = Promise.withResolvers<void>();
      const slow = async function* () {
        yield bytes.subarray(0, 20);
        await rest;
        yield bytes.subarray(20);
      };
      const importing = sessions.import(slow());
      const other = await sessions.open({ title: 'meanwhile' });
      await other.append({ role: 'user', content: 'not waiting' });
      sendRest();
      expect((await importing).sessions).toEqual([{ session: session.id, added: 2 }]);
    });

    test('[BUN3] is rejected as a whole when any single byte is changed, missing or added', async () => {
      const session = await source.sessions.open({ title: 'small' });
      await session.append([
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'y'.repeat(20_000) },
      ]);
      const bundle = await collect(session.export());
      const plain = zstdDecompressSync(bundle);
      const sessions = elsewhere();
      const refused = async (bytes: Uint8Array) => {
        const error = await failureOf(sessions.import(inChunks(bytes, 777)));
        expect(error.code).toBe('BUNDLE_INVALID');
        expect((await sessions.list()).sessions).toEqual([]);
      };
      const place = (bytes: Uint8Array) => fc.nat({ max: bytes.length - 1 });
      for (const bytes of [bundle, plain]) {
        await fc.assert(
          fc.asyncProperty(place(bytes), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
            const changed = Buffer.from(bytes);
            changed[at]! ^= mask;
            await refused(changed);
          }),
          { numRuns: 25 },
        );
        await fc.assert(
          fc.asyncProperty(place(bytes), async (length) => {
            await refused(bytes.subarray(0, length));
          }),
          { numRuns: 15 },
        );
      }
      await refused(Buffer.concat([plain, Buffer.from('{"more":1}\n')]));
      await refused(Buffer.from('not a bundle at all'));
      await refused(Buffer.from(''));
      await refused(Buffer.concat([plain, Buffer.from([0xff, 0xfe])]));
      for (const more of [bundle, Buffer.from('more'), Buffer.from([0])]) await refused(Buffer.concat([bundle, more]));
      expect((await sessions.import(inChunks(plain))).sessions).toEqual([{ session: session.id, added: 3 }]);
    });

    test('[BUN3] is rejected when its lines are inconsistent, even with a valid checksum', async () => {
      const { fork } = await family();
      const lines = linesOf(await collect(fork.export()));
      const sessions = elsewhere();
      const change = (index: number, edit: (line: never) => void) => {
        const line = JSON.parse(lines[index]!);
        edit(line as never);
        return lines.with(index, JSON.stringify(line));
      };
      const lies: Record<string, string[]> = {
        'a changed payload': change(3, (line: never) => {
          (line as { event: { body: { payload: string } } }).event.body.payload = '{}';
        }),
        'a changed time': change(3, (line: never) => {
          (line as { event: { at: number } }).event.at += 1;
        }),
        'a missing event': lines.toSpliced(4, 1),
        'two events in the wrong order': lines.toSpliced(4, 2, lines[5]!, lines[4]!),
        'a duplicated event': lines.toSpliced(4, 0, lines[4]!),
        'a session missing from the header': change(0, (line: never) => {
          (line as { sessions: unknown[] }).sessions.shift();
        }),
        'a child before its parent': change(0, (line: never) => {
          (line as { sessions: unknown[] }).sessions.reverse();
        }),
        'an end that differs from the header': lines.slice(0, -1),
        'no header': lines.slice(1),
        'a future bundle version': change(0, (line: never) => {
          (line as { version: number }).version += 1;
        }),
        'a key for missing events': [
          ...lines,
          JSON.stringify({ key: { session: fork.id, key: 'k9', bodyHash: '0'.repeat(64), seq: 9000, count: 1 } }),
        ],
        'wrongly marked turns': change(3, (line: never) => {
          const { event } = line as { event: { opensTurn: boolean } };
          event.opensTurn = !event.opensTurn;
        }),
      };
      for (const [what, lying] of Object.entries(lies)) {
        const error = await failureOf(sessions.import(inChunks(sealedLines(lying))));
        expect({ what, code: error.code }).toEqual({ what, code: 'BUNDLE_INVALID' });
        expect((await sessions.list()).sessions).toEqual([]);
      }
      expect((await sessions.import(inChunks(sealedLines(lines)))).sessions).toHaveLength(2);
    });
  },
);
