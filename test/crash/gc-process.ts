/**
 * A process that, as instructed by its parent, collects garbage or writes files into sessions until it is killed.
 * Argument: the store's address.
 */
import '../support/end-with-parent.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { blobsOf } from '../../src/core/files/blobs-of.ts';
import { treeReader } from '../../src/core/files/read-tree.ts';
import { withEntry } from '../../src/core/files/with-entry.ts';
import type { NewBlob } from '../../src/core/ports/blobs.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import type { SessionKey } from '../../src/core/ports/store.ts';
import { openRuntime } from '../../src/index.ts';
import type { SessionId, WorkspaceId } from '../../src/schema/ids.ts';
import { contentOf, filesOf, putFiles, snapshotFiles } from '../support/files/named-files.ts';
import { openStoreAt } from '../support/stores/open-store.ts';

/** Writes files into these sessions; if there are none, collects garbage. */
export interface GcTask {
  readonly workspace: WorkspaceId;
  readonly sessions: readonly SessionId[];
}

export type GcReport = { readonly ready: true } | { readonly removed: number } | { readonly tree: string };

const sendReport = (report: GcReport) => process.send!(report);
const upTo = (limit: number): number => Math.floor(Math.random() * limit);

/** Chooses from a few contents, so that blobs become garbage and are then needed again. */
const someFiles = (): readonly NewBlob[] => {
  const first = upTo(300);
  const numbers = Array.from({ length: 5 + upTo(120) }, (_, at) => first + at);
  return filesOf(Object.fromEntries(numbers.map((n) => [`${n % 7}/${n}`, `content ${n}`])));
};

/**
 * Adds one file to a tree. Uploads only the new content and its folders, and relies on the blobs that the log already
 * names.
 */
const withOneMore = async (store: RuntimeStore, { workspace }: SessionKey, tree: string) => {
  const content = contentOf(`more ${upTo(50)}`);
  const entry = { kind: 'file', mode: 0o644, size: content.bytes.length, hash: content.hash } as const;
  const { trees } = (await withEntry(treeReader(blobsOf(store, workspace)), tree, [`${upTo(7)}`, 'more'], entry))!;
  return [content, ...trees];
};

const write = async (store: RuntimeStore, key: SessionKey): Promise<void> => {
  for (let tree: string | undefined; ; ) {
    const files: readonly NewBlob[] = tree && upTo(2) ? await withOneMore(store, key, tree) : someFiles();
    await putFiles(store, key.workspace, files);
    if (upTo(3) === 0) continue;
    await snapshotFiles(store, key, files);
    tree = files.at(-1)!.hash;
    sendReport({ tree });
    await pause(60);
  }
};

const collect = async (store: RuntimeStore, workspace: WorkspaceId): Promise<void> => {
  const runtime = (await openRuntime({ store })).as({ workspace, member: 'local', role: 'admin' });
  for (;;) await runtime.gc({ onProgress: ({ removed }) => removed > 0 && sendReport({ removed }) });
};

const store = await openStoreAt(process.argv[2]!);
sendReport({ ready: true });
process.once('message', ({ workspace, sessions }: GcTask) =>
  sessions.length === 0
    ? collect(store, workspace)
    : Promise.all(sessions.map((session) => write(store, { workspace, session }))),
);
