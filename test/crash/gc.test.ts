import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { openRuntime, type Runtime } from '../../src/index.ts';
import { type SessionId, WorkspaceId } from '../../src/schema/ids.ts';
import { contentOf, putFiles } from '../named-files.ts';
import { openStoreAt } from '../open-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../stores.ts';
import type { GcPlan, GcReport } from './gc-process.ts';

const kills = Math.max(20, Number(process.env.PERDURE_KILLS) / 2);
const entry = fileURLToPath(new URL('./gc-process.ts', import.meta.url));
const workspace = WorkspaceId.parse('local');
/** More than a collection removes at once. */
const garbageBlobs = 1200;

const age = (place: StorePlace, isSqlite: boolean) =>
  place.edit((_, prefix) => {
    const earlier = isSqlite ? 'put_at - 2 * 86400000' : "put_at - interval '2 days'";
    return `update ${prefix}blobs set put_at = ${earlier}`;
  });

const start = async (plan: GcPlan): Promise<ChildProcess> => {
  const child = fork(entry, [JSON.stringify(plan)], { execArgv: [] });
  await once(child, 'message');
  return child;
};

const kill = async (child: ChildProcess): Promise<void> => {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
};

const reopened = async <T>(
  address: string,
  work: (runtime: Runtime, store: RuntimeStore) => Promise<T>,
): Promise<T> => {
  const store = await openStoreAt(address);
  const runtime = await openRuntime({ store });
  try {
    return await work(runtime, store);
  } finally {
    await runtime.close();
  }
};

test.each(storeKinds)(
  '[GC3, FILE12] SIGKILL in the middle of collections on %s, beside writers: nothing that is named is ever missing',
  async (kind) => {
    const place = await newStorePlace(kind);
    const { address } = place;
    const ids: SessionId[] = [];
    let [written, inTheMiddle] = [0, 0];
    for (let round = 0; round < kills; round++) {
      const garbage = Array.from({ length: garbageBlobs }, (_, at) => contentOf(`garbage ${round} ${at}`));
      const here = await reopened(address, async ({ sessions }, store) => {
        await putFiles(store, workspace, garbage);
        return [(await sessions.open()).id, (await sessions.open()).id];
      });
      ids.push(...here);
      await age(place, kind === 'sqlite');
      const collector = await start({ address });
      const writers = await Promise.all(here.map((session) => start({ address, key: { workspace, session } })));
      for (const writer of writers) writer.on('message', () => written++);
      const removing = new Promise((resolve, reject) => {
        collector.on('message', (report: GcReport) => 'removed' in report && resolve(report));
        collector.on('exit', () => reject(new Error('the collection ended before it was killed')));
      });
      removing.catch(() => undefined);
      for (const child of [...writers, collector]) child.send('go');
      const isRemoving = round % 4 > 0;
      if (isRemoving) await removing;
      await pause(Math.random() * (isRemoving ? 40 : 400));
      await kill(collector);
      await pause(Math.random() * 100);
      await Promise.all(writers.map(kill));
      await reopened(address, async ({ sessions }, store) => {
        for (const id of here) expect(await (await sessions.get(id)).verify()).toMatchObject({ ok: true });
        const hashes = garbage.map(({ hash }) => hash);
        if ((await store.hasBlobs(workspace, hashes)).size > 0) inTheMiddle += 1;
      });
    }
    await age(place, kind === 'sqlite');
    await reopened(address, async ({ sessions, gc }) => {
      const { garbage, removed, young } = await gc();
      expect(removed).toEqual(garbage);
      expect([(await gc()).garbage.blobs, young.blobs]).toEqual([0, 0]);
      for (const id of ids) expect(await (await sessions.get(id)).verify()).toMatchObject({ ok: true });
    });
    console.log(
      `${kind}: ${kills} kills, ${inTheMiddle} with garbage left, ${written} snapshots told, none with anything missing`,
    );
    expect(inTheMiddle).toBeGreaterThan(0);
    expect(written).toBeGreaterThan(kills);
    await place.remove();
  },
);
