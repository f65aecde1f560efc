import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MemoryBlobs } from '../../../test/support/files/memory-blobs.ts';
import { newId } from '../../schema/ids.ts';
import { placeIn } from '../files/disk/place.ts';
import { Worktrees } from '../files/disk/worktrees.ts';
import { blobOfTree, emptyTree, hashOf } from '../files/tree.ts';
import { systemRandom } from '../ports/random.ts';
import { systemTimekeeper } from '../ports/timekeeper.ts';
import { nothingSecret } from '../session/redaction/redact.ts';
import { recordEnd } from '../worker/record-end.ts';
import type { RunContext } from '../worker/run-context.ts';
import { RunFiles } from './run-files.ts';

const cause = { tool: 'act', callId: 'call_1' };

/** The files of a session. Another writer changes them before each decision about them. */
const startMovingFiles = async () => {
  const home = await mkdtemp(join(tmpdir(), 'perdure-moving-files-'));
  const worktrees = new Worktrees();
  onTestFinished(async () => {
    await worktrees.stop();
    await rm(home, { recursive: true });
  });
  const place = placeIn(home);
  await mkdir(place.folder);
  await writeFile(join(place.folder, 'mine'), 'x');
  const blobs = new MemoryBlobs();
  const treeWith = async (name: string) => {
    const bytes = Buffer.from('x');
    const content = { hash: hashOf(bytes), bytes };
    const entry = { kind: 'file', mode: 0o644, size: 1, hash: content.hash } as const;
    const tree = blobOfTree(new Map([[name, entry]]));
    await blobs.putBlobs([content, tree]);
    return tree.hash;
  };
  let changes = 0;
  const fold = async () => ({ seq: 1, files: { tree: await treeWith(`theirs-${changes}`), leftOut: {} } });
  const writer = {
    key: { workspace: 'local', session: newId('ses') },
    fold,
    decide: async (decide: (state: unknown) => unknown) => {
      changes++;
      expect(decide(await fold())).toBeUndefined();
      return [];
    },
  };
  const scope = {
    blobs,
    worktrees,
    secrets: { redactor: async () => nothingSecret },
    agents: new Map(),
    clock: systemTimekeeper(),
    random: systemRandom,
  };
  const files = new RunFiles({ scope, writer, place, tools: new Map() } as never, { seq: 1 } as never);
  const run = { scope, writer, files, tools: new Map() } as unknown as RunContext;
  return { files, run, treeWith, changes: () => changes };
};

type Moving = Awaited<ReturnType<typeof startMovingFiles>>;
const recordings: Readonly<Record<string, (moving: Moving) => Promise<unknown>>> = {
  'changes of a subagent': async ({ files, treeWith }) =>
    files.takeOver(emptyTree.hash, await treeWith('made-by-the-child'), cause),
  'changes of a lost call': ({ files }) => files.recover(cause),
  'the outcome of a call that wrote files': async ({ files, run }) =>
    recordEnd(
      run,
      { ...cause, input: {} },
      { outcome: 'ok', output: 'done' },
      { durationMs: 1, look: await files.look(cause) },
    ),
};

test.each(Object.entries(recordings))(
  '[FILE39] if another writer keeps changing the files, recording %s fails with CONFLICT instead of losing data',
  async (_, tell) => {
    const moving = await startMovingFiles();
    await expect(tell(moving)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(moving.changes()).toBe(20);
  },
);
