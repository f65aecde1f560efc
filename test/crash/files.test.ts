import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { hashOf } from '../../src/core/files/tree.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import type { Runtime, Session } from '../../src/index.ts';
import { type SessionId, WorkspaceId } from '../../src/schema/ids.ts';
import { type Listing, listFolder } from '../support/files/worktree-folder.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, type StoreKind, storeKinds } from '../support/stores/stores.ts';
import type { FilesPlace, FilesWork } from './files-process.ts';
import { filesOfVersion, fill, fillingAgent, openFilling } from './filling-agent.ts';

/** Number of kills per store and situation. The test kills in two situations. */
const kills = Math.max(10, Number(process.env.PERDURE_KILLS) / 4);
const workspace = WorkspaceId.parse('local');
const entry = fileURLToPath(new URL('./files-process.ts', import.meta.url));

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'perdure-crash-'));

/** Lists long contents by their hashes, so that a difference stays readable. */
const listed = (folder: string): Listing =>
  Object.fromEntries(
    Object.entries(listFolder(folder)).map(([path, what]) => [
      path,
      what.length < 1000 ? what : hashOf(Buffer.from(what)),
    ]),
  );

/** The listing of a temporary folder that `make` fills. */
const listingOf = async (make: (folder: string) => unknown): Promise<Listing> => {
  const folder = newFolder();
  await make(folder);
  const listing = listed(folder);
  rmSync(folder, { recursive: true });
  return listing;
};
const versionListing = (version: string) => listingOf((folder) => fill(folder, version));
const listingAt = (session: Session, turn: number) =>
  listingOf((folder) => session.files.copyTo(folder, { at: { turn } }));

/** A call that was killed must not run again. */
const agent = fillingAgent(() => {
  throw new Error('the killed call ran again');
});

type Undo = (last: () => void | Promise<void>) => void;

const begin = async (kind: StoreKind, undo: Undo) => {
  const { address, remove } = await newStorePlace(kind);
  undo(remove);
  const place: FilesPlace = { address, data: newFolder() };
  undo(() => rmSync(place.data, { recursive: true }));
  const opened = async <T>(work: (runtime: Runtime, store: RuntimeStore) => Promise<T>): Promise<T> => {
    const store = await openStoreAt(address);
    const runtime = await openFilling(store, place.data, agent);
    try {
      return await work(runtime, store);
    } finally {
      await runtime.close();
    }
  };
  const client = await openFilling(await openStoreAt(address), place.data, agent);
  undo(() => client.close());
  const start = () => {
    const child = fork(entry, [JSON.stringify(place)], { execArgv: [] });
    undo(() => void child.kill('SIGKILL'));
    return { child, isReady: once(child, 'message') };
  };
  let next = start();
  /** Runs the work in a process that was started in advance. */
  const work = async (given: FilesWork): Promise<void> => {
    const { child, isReady } = next;
    next = start();
    await isReady;
    const ended = once(child, 'exit');
    child.send(given);
    const [code, signal] = await ended;
    expect([0, 'SIGKILL']).toContain(code ?? signal);
  };
  const worktreeOf = (session: SessionId): string => join(place.data, 'worktrees', workspace, session, 'files');
  return { client, opened, work, worktreeOf };
};

/** The invariant after every kill: the log names no missing blob, and the next worker finishes the run. */
const finishRun = async (runtime: Runtime, session: Session): Promise<void> => {
  expect(await session.verify()).toMatchObject({ ok: true });
  await runtime.worker({ session: session.id }).runUntilIdle();
  const { type, payload } = (await Array.fromAsync(session.events())).at(-1)!;
  expect({ type, payload }).toMatchObject({ type: 'run.ended', payload: { status: 'succeeded' } });
};

/** Returns how much of a version reached the store. */
const storedOf = async (store: RuntimeStore, session: Session, version: string) => {
  if ((await session.files.list()).some(({ path }) => path === `only-${version}`)) return 'recorded';
  const hashes = filesOfVersion(version).map(({ text }) => hashOf(Buffer.from(text)));
  const there = (await store.hasBlobs(workspace, hashes)).size;
  if (there === 0) return 'nothing';
  return there < hashes.length ? 'a part' : 'all of it';
};

/** Returns how much of a restore was done. Also checks that every file is whole. */
const restoredOf = (folder: string, from: Listing, to: Listing) => {
  const now = Object.entries(listed(folder)).filter(([path]) => !path.startsWith('.perdure'));
  for (const [path, what] of now) if (!what.startsWith('folder')) expect([from[path], to[path]], path).toContain(what);
  const isAll = (listing: Listing) => JSON.stringify(Object.fromEntries(now)) === JSON.stringify(listing);
  const isUnderWay = existsSync(join(folder, '.perdure/restore'));
  if (isAll(from)) return isUnderWay ? 'new content aside' : 'nothing';
  if (isAll(to)) return isUnderWay ? 'all but the end' : 'all';
  return 'a part';
};

describe.each(storeKinds)('files on %s', (kind) => {
  test('[FILE12, FILE21] after SIGKILL during a snapshot the log names no missing blob, and the next worker records the files', async ({
    onTestFinished,
  }) => {
    const { client, opened, work, worktreeOf } = await begin(kind, onTestFinished);
    const stored = { nothing: 0, 'a part': 0, 'all of it': 0, recorded: 0 };
    let session!: Session;
    for (let kill = 0; kill < kills; kill++) {
      const isFirst = kill % 2 === 0;
      if (isFirst) session = await client.sessions.open({ agent });
      await session.send('fill');
      const version = `v${kill}`;
      const death = { at: 'put', nth: kill % 4 < 3 ? 2 : 1, afterMs: kill % 2 === 0 ? 0 : Math.random() * 40 } as const;
      await work({ session: session.id, version, death });
      await opened(async (runtime, store) => {
        const again = await runtime.sessions.get(session.id);
        stored[await storedOf(store, again, version)]++;
        await finishRun(runtime, again);
        const listing = await versionListing(version);
        expect(listed(worktreeOf(session.id))).toEqual(listing);
        expect(await listingAt(again, 1)).toEqual(isFirst ? listing : await versionListing(`v${kill - 1}`));
      });
    }
    console.log(`${kind}: ${kills} kills during snapshots; already stored:`, stored);
    expect(stored['a part'] + stored['all of it']).toBeGreaterThan(kills / 2);
    expect(stored['a part']).toBeGreaterThan(0);
  });

  test('[FILE12, FILE19] after SIGKILL during a restore every file is whole, and the next worker restores exactly the files of the point', async ({
    onTestFinished,
  }) => {
    const { client, opened, work, worktreeOf } = await begin(kind, onTestFinished);
    const restored = { nothing: 0, 'new content aside': 0, 'a part': 0, 'all but the end': 0, all: 0 };
    const session = await client.sessions.open({ agent });
    const worktree = worktreeOf(session.id);
    const points: { readonly seq: number; readonly listing: Listing }[] = [];
    for (const version of ['one', 'two']) {
      await session.send('fill');
      await work({ session: session.id, version });
      points.push({ seq: (await session.summary()).seq, listing: await versionListing(version) });
    }
    for (let kill = 0; kill < kills; kill++) {
      const [to, from] = kill % 2 === 0 ? [points[0]!, points[1]!] : [points[1]!, points[0]!];
      await session.files.restore({ seq: to.seq });
      await session.send('look');
      const death =
        kill % 4 < 2
          ? ({ at: 'aside', nth: 1, afterMs: Math.random() * 60 } as const)
          : ({ at: 'place', nth: 1, afterMs: Math.random() * 10 } as const);
      await work({ session: session.id, version: 'none', death });
      restored[restoredOf(worktree, from.listing, to.listing)]++;
      await opened(async (runtime) => finishRun(runtime, await runtime.sessions.get(session.id)));
      expect(listed(worktree)).toEqual(to.listing);
    }
    const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
    expect(types).not.toContain('files.conflicted');
    console.log(`${kind}: ${kills} kills during restores; already restored:`, restored);
    const { nothing, all, ...within } = restored;
    expect(Object.values(within).reduce((sum, each) => sum + each)).toBeGreaterThan(kills / 2);
    expect(within['a part']).toBeGreaterThan(0);
  });
});
