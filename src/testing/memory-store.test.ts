import type { SessionKey, StoredEvent } from '../core/ports/store.ts';
import { blobHash, payloadDigest } from '../core/session/events/chain.ts';
import { describeStoreContract } from './describe-store-contract.ts';
import { hexOf, isSpilled, newMemoryDatabase, workspaceOf } from './memory-database.ts';
import { openMemoryStore } from './memory-store.ts';

const database = newMemoryDatabase();

const flipped = (bytes: Uint8Array): Uint8Array => bytes.map((byte, index) => (index === 0 ? byte ^ 1 : byte));

const edit = async (key: SessionKey, seq: number, change: (event: StoredEvent) => Partial<StoredEvent>) => {
  const events = workspaceOf(database, key.workspace).sessions.get(key.session)!.events;
  const event = events.get(seq)!;
  events.set(seq, { ...event, ...change(event) });
};

const bytesOf = ({ body }: StoredEvent) => {
  if (body.kind !== 'bytes') throw new Error(`cannot change a ${body.kind} payload`);
  return body;
};

describeStoreContract('memory', {
  open: async () => openMemoryStore(database),
  destroy: async () => database.workspaces.clear(),
  tamper: {
    changePayload: (key, seq) =>
      edit(key, seq, (event) => {
        const { bytes, ...body } = bytesOf(event);
        if (!isSpilled(event.body)) return { body: { ...body, bytes: flipped(bytes) } };
        workspaceOf(database, key.workspace).blobs.set(hexOf(blobHash(bytes)), flipped(bytes));
        return {};
      }),
    changeAt: (key, seq, at) => edit(key, seq, () => ({ at })),
    changeTurn: (key, seq, turn) => edit(key, seq, () => ({ turn })),
    changeHash: (key, seq) => edit(key, seq, ({ hash }) => ({ hash: flipped(hash) })),
    removeEvent: async ({ workspace, session }, seq) => {
      workspaceOf(database, workspace).sessions.get(session)!.events.delete(seq);
    },
    redact: (key, seq) =>
      edit(key, seq, (event) => ({
        body: { kind: 'redacted', digest: payloadDigest(bytesOf(event).salt, bytesOf(event).bytes) },
      })),
    removeBlob: async (workspace, hash) => {
      workspaceOf(database, workspace).blobs.delete(hexOf(hash));
    },
    countPieces: async (name) => {
      const { blobs, parts } = workspaceOf(database, name);
      return blobs.size + parts.size;
    },
    ageBlobs: async (name, ms) => {
      const { blobTimes } = workspaceOf(database, name);
      for (const [hash, at] of blobTimes) blobTimes.set(hash, at - ms);
    },
    projections: async (name) =>
      [...workspaceOf(database, name).sessions.values()].map(({ head, paths, calls, charges }) => ({
        paths: [...paths],
        calls: [...calls],
        charges: [...charges],
        summary: JSON.stringify(head.summary),
      })),
    spoilProjections: async (name) => {
      for (const session of workspaceOf(database, name).sessions.values()) {
        session.paths.length = 0;
        session.calls.length = 0;
        session.charges.length = 0;
        session.head = { ...session.head, summary: { ...session.head.summary, title: 'spoiled', messages: 99 } };
      }
    },
  },
});
