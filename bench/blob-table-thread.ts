import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { NewBlob } from '../src/core/ports/blobs.ts';

const db = new DatabaseSync((workerData as { file: string }).file);
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE blobs (workspace TEXT, hash BLOB, size INTEGER, encoding INTEGER, bytes BLOB, PRIMARY KEY (workspace, hash))`);
const insert = db.prepare("INSERT INTO blobs VALUES ('local', ?, ?, 1, ?) ON CONFLICT DO NOTHING");
const select = db.prepare("SELECT bytes FROM blobs WHERE workspace = 'local' AND hash = ?");
const find = db.prepare("SELECT 1 FROM blobs WHERE workspace = 'local' AND hash = ?");
const key = (hash: string) => Buffer.from(hash, 'hex');
const level = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const operations = {
  putBlobs: (blobs: readonly NewBlob[]) => {
    db.exec('BEGIN IMMEDIATE');
    for (const { hash, bytes } of blobs) insert.run(key(hash), bytes.length, zstdCompressSync(bytes, level));
    db.exec('COMMIT');
  },
  readBlob: (hash: string) => {
    const row = select.get(key(hash));
    return row && new Uint8Array(zstdDecompressSync(row.bytes as Uint8Array));
  },
  hasBlobs: (hashes: readonly string[]) => new Set(hashes.filter((hash) => find.get(key(hash)))),
};

parentPort!.on('message', ({ id, name, argument }: { id: number; name: keyof typeof operations; argument: never }) =>
  parentPort!.postMessage({ id, value: operations[name](argument) }),
);
