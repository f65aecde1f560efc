import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listImports } from '../../scripts/check-imports.ts';
import { readFiles } from '../../scripts/read-files.ts';

/** One step of a walk through the code in ARCHITECTURE.md: a file and a name declared in it. */
interface WalkStep {
  readonly file: string;
  readonly name: string;
}

const step = /^\d+\. `(src\/[^`]+\.ts)` `(\w+)`/;
const section = /^## Four walks$([\s\S]*?)^## /m;

/** Each numbered list of the section "Four walks" is one walk. */
const listWalks = (architecture: string): readonly (readonly WalkStep[])[] => {
  const lines = section.exec(architecture)?.[1]?.split('\n') ?? [];
  const walks: WalkStep[][] = [];
  for (const line of lines) {
    const [, file, name] = step.exec(line) ?? [];
    if (!file || !name) continue;
    if (line.startsWith('1.')) walks.push([]);
    walks.at(-1)!.push({ file, name });
  }
  return walks;
};

const rooms = /^\| `(src\/[^`]+\/)` \|.*\| (.*) \|$/gm;

/** The folders of the table "Rooms", each with the files to start at. */
const listRooms = (architecture: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...architecture.matchAll(rooms)].map(([, room, starts]) => [
      room!,
      [...starts!.matchAll(/`([^`]+)`/g)].map(([, file]) => `${room}${file}`),
    ]),
  );

const architecture = readFileSync('ARCHITECTURE.md', 'utf8');
const sources = new Map([...readFiles('src/**/*.ts')].filter(([path]) => !path.endsWith('.test.ts')));
const walks = listWalks(architecture);

const importsOf = (file: string): readonly string[] =>
  listImports(sources.get(file) ?? '')
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(file), specifier));

/** Every file that a file imports, directly or through others. */
const reach = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  for (const next of importsOf(file)) {
    if (seen.has(next)) continue;
    seen.add(next);
    reach(next, seen);
  }
  return seen;
};

/** Whether the file declares the name, or has a method of that name. */
const declares = (file: string, name: string): boolean =>
  new RegExp(`(?:const|function\\*?|class|interface)\\s+${name}\\b|^\\s*(?:async )?${name}[(<]`, 'm').test(
    sources.get(file) ?? '',
  );

describe('[DOC7] the walks of ARCHITECTURE.md', () => {
  test('are the four walks through the code and the walks behind them', () => {
    expect(walks.map(([first]) => first?.file)).toEqual([
      'src/core/runtime/session.ts',
      'src/stores/sqlite/sqlite-store.ts',
      'src/stores/postgres/postgres-store.ts',
      'src/core/runtime/session.ts',
      'src/core/worker/worker.ts',
      'src/servers/http/server.ts',
      'src/core/runtime/session.ts',
      'src/core/runtime/session.ts',
    ]);
  });

  test.each(walks.flat())('$file declares $name', ({ file, name }) => {
    expect(sources.has(file)).toBe(true);
    expect(declares(file, name)).toBe(true);
  });

  test.each(walks.map((walk) => [walk[0]!.file, walk] as const))(
    'starting at %s go only from importing to imported files',
    (_, walk) => {
      for (const [index, { file }] of walk.entries()) {
        const above = walk.slice(0, index).map((each) => each.file);
        const reached = reach(file);
        expect(above.filter((each) => reached.has(each))).toEqual([]);
        const isStarted = above.some((each) => reach(each).has(file) || startsThread(each, file));
        expect(index === 0 || isStarted ? undefined : `no file above imports ${file}`).toBeUndefined();
      }
    },
  );
});

/** Whether a file starts another one as a thread. A thread is started by its URL, so no import leads to it. */
const startsThread = (from: string, file: string): boolean =>
  from === 'src/stores/sqlite/sqlite-store.ts' && reach('src/stores/sqlite/thread/thread.ts').has(file);

describe('[DOC7] the rooms of ARCHITECTURE.md', () => {
  const rooms = listRooms(architecture);

  test('include every folder of src that has sources, itself or through its parent', () => {
    const folders = new Set(
      [...sources.keys()].map((path) => `${posix.dirname(path)}/`).filter((each) => each !== 'src/'),
    );
    const missing = [...folders].filter((folder) => !rooms.has(folder) && !rooms.has(`${posix.dirname(folder)}/`));
    expect(missing).toEqual([]);
    expect([...rooms.keys()].filter((room) => ![...folders].some((folder) => folder.startsWith(room)))).toEqual([]);
  });

  test('name files that exist', () => {
    expect([...rooms.values()].flat().filter((file) => !sources.has(file))).toEqual([]);
  });
});
