/**
 * The thread that works on worktree files, so that the main event loop is not blocked. Blobs are read from and written
 * to the store of the main thread.
 */
import { parentPort } from 'node:worker_threads';
import { BoundedMap } from '../../../concurrency/bounded-map.ts';
import { fromErrorData, toErrorData } from '../../../schema/error-data.ts';
import type { Blobs, NewBlob } from '../../ports/blobs.ts';
import { changedFiles, type FileChange, findChanges, findRenames } from '../changes.ts';
import { readContent, treeReader } from '../read-tree.ts';
import { diffFile, type FileDiff } from '../text-diff.ts';
import { emptyTree } from '../tree.ts';
import type {
  Cached,
  Compared,
  FromFilesThread,
  OptionsOf,
  ResultOf,
  TaskName,
  ToFilesThread,
} from './files-protocol.ts';
import { restoreSnapshot } from './restore.ts';
import { scannedReader } from './scanned-reader.ts';
import { takeSnapshot } from './snapshot.ts';
import { readStatCache, type StatCache, writeStatCache } from './stat-cache.ts';

const port = parentPort!;
const tell = (message: FromFilesThread, transfer: readonly ArrayBuffer[] = []) =>
  port.postMessage(message, transfer as ArrayBuffer[]);

const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
let lastAsked = 0;

const ask = (of: number, method: keyof Blobs, argument: unknown, transfer?: readonly ArrayBuffer[]) =>
  new Promise<unknown>((resolve, reject) => {
    const id = ++lastAsked;
    pending.set(id, { resolve, reject });
    tell({ ask: id, of, method, argument }, transfer);
  });

/** The blobs of a task, whose store is in the main thread. Bytes are transferred, not copied. */
const blobsOf = (task: number): Blobs => ({
  putBlobs: async (blobs) => {
    const owned = blobs.map(({ hash, bytes }): NewBlob => ({ hash, bytes: ownBytes(bytes) }));
    await ask(task, 'putBlobs', owned, [...new Set(owned.map(({ bytes }) => bytes.buffer as ArrayBuffer))]);
  },
  readBlob: async (hash) => (await ask(task, 'readBlob', hash)) as Uint8Array | undefined,
  hasBlobs: async (hashes) => (await ask(task, 'hasBlobs', hashes)) as ReadonlySet<string>,
});

/**
 * Returns bytes that own their memory. A small buffer may share its memory with other buffers, and a transfer moves
 * that memory as a whole.
 */
const ownBytes = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);

/** The scan caches of recently used worktrees. The caches of other worktrees are only on disk. */
const caches = new BoundedMap<string, StatCache>(8);

const withCache = async <T>(
  { cacheFile }: Cached,
  work: (cache: StatCache | undefined) => Promise<readonly [T, StatCache]>,
): Promise<T> => {
  if (cacheFile === undefined) return (await work(undefined))[0];
  const before = caches.get(cacheFile) ?? readStatCache(cacheFile);
  const [value, cache] = await work(before);
  caches.set(cacheFile, cache);
  if (cache.root !== before?.root) saveLater(cacheFile, cache);
  return value;
};

const saveAfterMs = 500;
const unsaved = new Map<string, StatCache>();
let saving: NodeJS.Timeout | undefined;

/** Saves a cache in the background. If the cache is lost, only the next snapshot is slower. */
const saveLater = (file: string, cache: StatCache): void => {
  unsaved.set(file, cache);
  saving ??= setTimeout(save, saveAfterMs);
};

const save = (): void => {
  clearTimeout(saving);
  saving = undefined;
  for (const [file, cache] of unsaved) {
    try {
      writeStatCache(file, cache);
    } catch {
      // Ignored, because the cache is optional. Saving fails for example when the disk is full.
    }
  }
  unsaved.clear();
};

const end = (): void => {
  save();
  port.close();
};

const changesBetween = async ({ before, after }: Compared, blobs: Blobs): Promise<readonly FileChange[]> => {
  const read = treeReader(blobs);
  return findRenames(await findChanges({ hash: before, read }, { hash: after, read }));
};

const tasks: { [Name in TaskName]: (options: OptionsOf<Name>, blobs: Blobs) => Promise<ResultOf<Name>> } = {
  snapshot: (options, blobs) =>
    withCache(options, async (cache) => {
      const taken = await takeSnapshot(options, cache, blobs);
      const { root } = taken.cache;
      const hash = options.base ?? emptyTree.hash;
      const read = cache?.root.hash === hash ? scannedReader(cache.root) : treeReader(blobs);
      const found = await findChanges({ hash, read }, { hash: root.hash, read: scannedReader(root) });
      return [{ ...taken.snapshot, changes: changedFiles(findRenames(found)) }, taken.cache];
    }),
  restore: (options, blobs) =>
    withCache(options, async (cache) => {
      const done = await restoreSnapshot(options, cache, blobs);
      const { changes, ...restored } = done.restored;
      return [{ ...restored, changed: changedFiles(changes).length }, done.cache];
    }),
  changes: changesBetween,
  diff: async (compared, blobs) => {
    const diffs: FileDiff[] = [];
    for (const change of await changesBetween(compared, blobs)) {
      diffs.push(await diffFile(change, (hash) => readContent(blobs, hash)));
    }
    return diffs;
  },
};

const run = async (task: number, name: TaskName, options: unknown): Promise<void> => {
  try {
    tell({ task, json: JSON.stringify(await tasks[name](options as never, blobsOf(task))) });
  } catch (error) {
    tell({ task, error: toErrorData(error) });
  }
};

port.on('message', (message: ToFilesThread) => {
  if ('task' in message) void run(message.task, message.name, message.options);
  else if ('end' in message) end();
  else {
    const waiting = pending.get(message.answer);
    pending.delete(message.answer);
    if ('error' in message) waiting?.reject(fromErrorData(message.error));
    else waiting?.resolve(message.value);
  }
});
