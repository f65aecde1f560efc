import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isPerdureError, type Runtime, type Session } from '../../src/index.ts';
import { runtimeKinds, runtimePlace } from '../support/stores/runtime-places.ts';

type Files = ReadonlyMap<string, string>;

/** The reference model of a session: its files now, and after the last event of each step. */
interface Model {
  readonly session: Session;
  files: Files;
  readonly after: Map<number, Files>;
}

const who = fc.nat({ max: 5 });
const where = fc.nat({ max: 1000 });
const path = fc.constantFrom('a', 'b', 'd/a', 'd/b', 'd/e/a', 'd/e', 'x/__proto__', 'a/b');
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('write' as const), who, path, text: fc.constantFrom('', '1', '2') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), who, path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fork' as const), who, where }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rewind' as const), who, where }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restore' as const), who, from: who, where }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const isBelow = (each: string, folder: string): boolean => each.startsWith(`${folder}/`);

/** Returns undefined where the write is impossible: the path is a folder, or a parent of it is a file. */
const written = (files: Files, at: string, text: string): Files | undefined => {
  if ([...files.keys()].some((each) => isBelow(each, at) || isBelow(at, each))) return undefined;
  return new Map(files).set(at, text);
};

const deleted = (files: Files, at: string): Files | undefined => {
  const gone = [...files.keys()].filter((each) => each === at || isBelow(each, at));
  return gone.length > 0 ? new Map([...files].filter(([each]) => !gone.includes(each))) : undefined;
};

const filesOf = async (session: Session, seq?: number): Promise<Record<string, string>> => {
  const at = seq === undefined ? {} : { at: { seq } };
  const found: [string, string][] = [];
  for (const { path: each, kind } of await session.files.list(at)) {
    if (kind === 'file') found.push([each, Buffer.from(await session.files.read(each, at)).toString()]);
  }
  return Object.fromEntries(found);
};

/** Returns whether the work succeeded; `refusals` are the acceptable error codes. */
const mayFail = async (work: Promise<unknown>, refusals: readonly string[]): Promise<boolean> => {
  try {
    await work;
    return true;
  } catch (error) {
    if (isPerdureError(error) && refusals.includes(error.code)) return false;
    throw error;
  }
};

const placeOf = ({ after }: Model, index: number): readonly [number, Files] => [...after][index % after.size]!;

const play = async (models: Model[], each: Step): Promise<void> => {
  const model = models[each.who % models.length]!;
  const { session } = model;
  if (each.do === 'write' || each.do === 'delete') {
    const next = each.do === 'write' ? written(model.files, each.path, each.text) : deleted(model.files, each.path);
    // Empty folders remain in a session, but the model tracks only files.
    const isFolder = (await session.files.list()).some(({ path: at, kind }) => at === each.path && kind === 'folder');
    const work = each.do === 'write' ? session.files.write(each.path, each.text) : session.files.delete(each.path);
    const isDone = await mayFail(work, ['CONFLICT', 'FILE_NOT_FOUND']);
    const isRight = each.do === 'write' ? next !== undefined && !isFolder : next !== undefined || isFolder;
    expect(isDone, JSON.stringify(each)).toBe(isRight);
    if (isDone && next) model.files = next;
  } else if (each.do === 'fork') {
    const [seq, files] = placeOf(model, each.where);
    const child = await session.fork({ at: { seq } });
    models.push({ session: child, files, after: new Map([[(await child.summary()).seq, files]]) });
  } else if (each.do === 'rewind') {
    const [seq, files] = placeOf(model, each.where);
    await session.rewind({ to: { seq } });
    model.files = files;
  } else {
    const source = models[each.from % models.length]!;
    const [seq, files] = placeOf(source, each.where);
    await session.files.restore({ session: source.session.id, seq });
    expect(await session.files.list()).toEqual(await source.session.files.list({ at: { seq } }));
    model.files = files;
  }
  model.after.set((await session.summary()).seq, model.files);
};

describe.each(runtimeKinds)('random writes, deletions, forks, rewinds and restores on %s', (kind) => {
  let place: Awaited<ReturnType<typeof runtimePlace>>;
  let runtime: Runtime;
  beforeAll(async () => {
    place = await runtimePlace(kind);
    runtime = await place.open();
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  test('[FILE30, FILE31, FILE32] every session has, at every point, exactly the files written to it', async () => {
    const run = async (steps: readonly Step[]): Promise<void> => {
      const session = await runtime.sessions.open();
      const models: Model[] = [{ session, files: new Map(), after: new Map([[1, new Map()]]) }];
      for (const each of steps) await play(models, each);
      const fresh = await place.open();
      for (const model of models) {
        const there = await fresh.sessions.get(model.session.id);
        expect(await filesOf(there)).toEqual(Object.fromEntries(model.files));
        for (const [seq, files] of model.after) expect(await filesOf(there, seq)).toEqual(Object.fromEntries(files));
        expect(await there.verify()).toMatchObject({ ok: true });
      }
      await fresh.close();
    };
    const numRuns = kind === 'memory' ? 40 : 8;
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), run), { numRuns });
  }, 120_000);
});
