import type { Runtime, RuntimeOptions } from '../../runtime.ts';
import type { Context, Surroundings } from './command.ts';

export type Env = Surroundings['env'];

/** Everything outside itself that a call depends on. */
export interface World extends Surroundings, Pick<Context, 'call' | 'hiddenLine'> {
  readonly argv: readonly string[];
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly now: () => number;
  readonly interrupted: () => AbortSignal;
  readonly openRuntime: (options: RuntimeOptions) => Promise<Runtime>;
}
