import type { Runtime, RuntimeOptions } from '../../runtime.ts';
import type { Context, Surroundings } from './command.ts';

export type Env = Surroundings['env'];

/** All external dependencies of a call: terminal, environment, signals and processes. */
export interface World extends Surroundings, Pick<Context, 'call' | 'hiddenLine'> {
  readonly argv: readonly string[];
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly now: () => number;
  readonly interrupted: () => AbortSignal;
  readonly openRuntime: (options: RuntimeOptions) => Promise<Runtime>;
}
