import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { testsOnPostgres } from './test/support/postgres/tests-on-postgres.ts';

// A store's threads load TypeScript. The cache strips and compiles it once for all tests, not at every opening.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/perdure');

const second = 1000;
const minute = 60 * second;

const quick = {
  include: ['src/**/*.test.ts', 'test/integration/**/*.test.ts', 'scripts/**/*.test.ts'],
  exclude: ['**/*.slow.test.ts'],
  testTimeout: 30 * second,
  kills: 40,
};

/** Chosen by `vitest run --mode <suite>`; plain `vitest run` is the suite `test`. */
const suites = {
  test: quick,
  /** The tests of `test` that need PostgreSQL, on the release that Debian's packages installed. */
  'debian-postgres': { ...quick, include: testsOnPostgres(quick.include, quick.exclude) },
  slow: {
    include: ['test/slow/**/*.test.ts', 'test/crash/**/*.test.ts', '{src,test}/**/*.slow.test.ts'],
    exclude: [],
    testTimeout: 10 * minute,
    kills: 40,
  },
  soak: { include: ['test/crash/**/*.test.ts'], exclude: [], testTimeout: 120 * minute, kills: 500 },
};

export default defineConfig(({ mode }) => {
  const suite = suites[mode as keyof typeof suites];
  if (!suite) throw new Error(`unknown suite "${mode}"; there are: ${Object.keys(suites).join(', ')}`);
  // Set for the global setup too, which runs in this process.
  if (mode === 'debian-postgres') process.env.PERDURE_TEST_POSTGRES = 'debian';
  return {
    test: {
      include: suite.include,
      exclude: [...suite.exclude, '**/node_modules/**'],
      testTimeout: suite.testTimeout,
      hookTimeout: suite.testTimeout,
      env: {
        // Tests switch the sandbox off, and may run as root.
        PERDURE_ALLOW_ROOT: '1',
        PERDURE_KILLS: process.env.PERDURE_KILLS ?? String(suite.kills),
        // In this mode only the pooler's contract has random properties, and the test suite runs them without a pooler.
        ...(mode === 'slow' && { PERDURE_PROPERTY_RUNS: process.env.PERDURE_PROPERTY_RUNS ?? '5' }),
      },
      sequence: { sequencer: LongestFirst },
      pool: 'forks',
      // Tests spend much time waiting for disks, timeouts and other processes: three at once keep two cores busy.
      maxWorkers: mode === 'soak' ? 1 : Math.ceil(availableParallelism() * 1.5),
      // Hundreds of threads load TypeScript. V8 may crash the process when it recompiles the same WebAssembly glue
      // code (nodejs/node#64500), so this budget prevents the recompilation.
      execArgv: ['--wasm-wrapper-tiering-budget=2000000000'],
      globalSetup: ['test/support/postgres/postgres-server.ts', 'test/support/stores/data-folder.ts'],
    },
  };
});
