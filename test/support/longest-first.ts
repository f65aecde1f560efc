import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Test files that take most of a minute or more, longest first. If one of them started last, the whole run would have
 * to wait for it.
 */
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
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((file) => moduleId.endsWith(file));
  return place < 0 ? longest.length : place;
};

/**
 * Runs the known long files first and leaves the rest in vitest's order: by last duration, or by size. A fresh
 * checkout has no durations.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
