import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { ScopedRuntime } from '../../src/core/runtime/scoped-runtime.ts';
import { openRuntime } from '../../src/index.ts';
import { type SessionId, WorkspaceId } from '../../src/schema/ids.ts';
import { contentOf } from '../support/files/named-files.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';
import type { GcReport, GcTask } from './gc-process.ts';

const kills = Math.max(20, Number(process.env.PERDURE_KILLS) / 2);
const entry = fileURLToPath(new URL('./gc-process.ts', import.meta.url));
/**
 * A collection reads its whole workspace, so a new workspace every few rounds keeps later rounds as fast as earlier
 * ones.
 */
const roundsPerWorkspace = 5;
/** More than a collection removes in one batch. */
const garbageBlobs = 1200;

const age = (place: StorePlace, isSqlite: boolean) =>
  place.edit((_, prefix) => {
    const earlier = isSqlite ? 'put_at - 2 * 86400000' : "put_at - interval '2 days'";
    return `update ${prefix}blobs set put_at = ${earlier}`;
  });

const start = (address: string) => {
  const child = fork(entry, [address], { execArgv: [] });
  return { child, isReady: once(child, 'message') };
};

const kill = async (child: ChildProcess): Promise<void> => {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
};

test.for(storeKinds)(
  '[GC3, FILE12] SIGKILL during collections on %s, with concurrent writers, never loses a blob that the log names',
  async (kind, { onTestFinished }) => {
    const place = await newStorePlace(kind);
    onTestFinished(place.remove);
    const { address } = place;
    const store = await openStoreAt(address);
    const runtime = await openRuntime({ store });
    onTestFinished(() => runtime.close());
    let next = [start(address), start(address)] as const;
    /** A collector and a writer that started up in advance. */
    const twoProcesses = async () => {
      const [collector, writer] = next;
      next = [start(address), start(address)];
      await Promise.all([collector.isReady, writer.isReady]);
      return { collector: collector.child, writer: writer.child };
    };
    onTestFinished(async () => void (await Promise.all(next.map(({ child }) => kill(child)))));
    const verify = async ({ sessions }: ScopedRuntime, ids: readonly SessionId[]) => {
      for (const id of ids) expect(await (await sessions.get(id)).verify()).toMatchObject({ ok: true });
    };
    let [written, inTheMiddle] = [0, 0];
    const round = async (workspace: WorkspaceId, scoped: ScopedRuntime, isRemoving: boolean) => {
      const garbage = Array.from({ length: garbageBlobs }, (_, at) => contentOf(`garbage ${performance.now()} ${at}`));
      await store.putBlobs(workspace, garbage);
      const here = [(await scoped.sessions.open()).id, (await scoped.sessions.open()).id];
      await age(place, kind === 'sqlite');
      const { collector, writer } = await twoProcesses();
      writer.on('message', () => written++);
      const removing = new Promise((resolve, reject) => {
        collector.on('message', (report: GcReport) => 'removed' in report && resolve(report));
        collector.on('exit', () => reject(new Error('the collector exited before it was killed')));
      });
      removing.catch(() => undefined);
      writer.send({ workspace, sessions: here } satisfies GcTask);
      collector.send({ workspace, sessions: [] } satisfies GcTask);
      if (isRemoving) await removing;
      await pause(Math.random() * (isRemoving ? 40 : 400));
      await kill(collector);
      await pause(Math.random() * 100);
      await kill(writer);
      await verify(scoped, here);
      const hashes = garbage.map(({ hash }) => hash);
      if ((await store.hasBlobs(workspace, hashes)).size > 0) inTheMiddle += 1;
      return here;
    };
    for (let kill = 0; kill < kills; ) {
      const workspace = WorkspaceId.parse(`after-${kill}`);
      await runtime.workspaces.add(workspace);
      const scoped = runtime.as({ workspace, member: 'local', role: 'admin' });
      const ids: SessionId[] = [];
      for (const end = kill + roundsPerWorkspace; kill < end; kill++) {
        ids.push(...(await round(workspace, scoped, kill % 4 > 0)));
      }
      // The last writes of a killed process may land after this collection; the next one finds them.
      const collect = async (): Promise<number> => {
        await age(place, kind === 'sqlite');
        const { garbage, removed, young } = await scoped.gc();
        expect(removed).toEqual(garbage);
        return garbage.blobs + young.blobs;
      };
      await collect();
      await expect.poll(collect, { timeout: 10_000 }).toBe(0);
      await verify(scoped, ids);
    }
    console.log(
      `${kind}: ${kills} kills, ${inTheMiddle} with garbage left, ${written} snapshots recorded, none with a missing blob`,
    );
    expect(inTheMiddle).toBeGreaterThan(0);
    expect(written).toBeGreaterThan(kills);
  },
);
