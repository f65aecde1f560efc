import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

// The threads of a store read TypeScript: stripped and compiled once for all tests, not at every opening.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/perdure');

const second = 1000;
const minute = 60 * second;

/** Chosen by `vitest run --mode <suite>`; plain `vitest run` is the suite `test`. */
const suites = {
  test: {
    include: ['src/**/*.test.ts', 'test/integration/**/*.test.ts', 'scripts/**/*.test.ts'],
    testTimeout: 30 * second,
    kills: 40,
  },
  slow: { include: ['test/slow/**/*.test.ts', 'test/crash/**/*.test.ts'], testTimeout: 10 * minute, kills: 40 },
  soak: { include: ['test/crash/**/*.test.ts'], testTimeout: 120 * minute, kills: 500 },
};

export default defineConfig(({ mode }) => {
  const suite = suites[mode as keyof typeof suites];
  if (!suite) throw new Error(`unknown suite "${mode}"; there are: ${Object.keys(suites).join(', ')}`);
  return {
    test: {
      include: suite.include,
      testTimeout: suite.testTimeout,
      hookTimeout: suite.testTimeout,
      env: {
        PERDURE_KILLS: process.env.PERDURE_KILLS ?? String(suite.kills),
        // Only the pooler's contract has random properties there, and the same engine has shown them without it.
        ...(mode === 'slow' && { PERDURE_PROPERTY_RUNS: process.env.PERDURE_PROPERTY_RUNS ?? '5' }),
      },
      sequence: { sequencer: LongestFirst },
      pool: 'forks',
      // Much of a test is waiting for disks, timeouts and other processes: three at once keep two cores busy.
      maxWorkers: mode === 'soak' ? 1 : Math.ceil(availableParallelism() * 1.5),
      // Threads that read TypeScript come and go by the hundred, and V8 may then end the process while it compiles the same glue code
      // for WebAssembly again (nodejs/node#64500): let it never do so.
      execArgv: ['--wasm-wrapper-tiering-budget=2000000000'],
      globalSetup: ['test/support/postgres/postgres-server.ts', 'test/support/stores/data-folder.ts'],
    },
  };
});
