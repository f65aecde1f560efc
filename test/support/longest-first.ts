import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Minutes long, or most of one: who begins one of them last has the others wait for it. Longest first. */
const longest = [
  'test/crash/gc.test.ts',
  'test/crash/append.test.ts',
  'test/slow/cli-runs.test.ts',
  'test/crash/files.test.ts',
  'test/crash/cluster/cluster.test.ts',
  'test/crash/runs.test.ts',
  'test/slow/pooler.test.ts',
  'test/slow/cut-connections.test.ts',
  'src/stores/postgres/postgres-store.test.ts',
  'src/stores/sqlite/sqlite-store.test.ts',
  'test/integration/cli.test.ts',
  'src/servers/http/server.test.ts',
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((file) => moduleId.endsWith(file));
  return place < 0 ? longest.length : place;
};

/** In the order that vitest knows from the run before, or by size; but first those that are known to be long, which no fresh checkout knows. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
