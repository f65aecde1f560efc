import type { BenchCase } from '../bench-case.ts';
import { append } from './append.ts';
import { bytes } from './bytes.ts';
import { cluster } from './cluster.ts';
import { fork } from './fork.ts';
import { loop } from './loop.ts';
import { neighbours } from './neighbours.ts';
import { open } from './open.ts';
import { runs } from './runs.ts';
import { server } from './server.ts';
import { state } from './state.ts';
import { wake } from './wake.ts';

/**
 * In the order they run; cases that need long histories share them. `files`, `import` and `estimate` need no engine, see main.ts.
 */
export const engineCases = {
  append,
  loop,
  wake,
  state,
  runs,
  server,
  neighbours,
  cluster,
  bytes,
  open,
  fork,
} satisfies Record<string, BenchCase>;
export const caseNames = [
  ...(Object.keys(engineCases) as (keyof typeof engineCases)[]),
  'files',
  'import',
  'estimate',
] as const;
export type CaseName = (typeof caseNames)[number];
