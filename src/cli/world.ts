import type { Runtime, RuntimeOptions } from '../runtime.ts';
import type { Context } from './command.ts';
import type { Person } from './runs/person.ts';
import type { Terminal } from './terminal.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** All that a call touches outside itself. */
export interface World {
  readonly argv: readonly string[];
  readonly env: Env;
  /** The current one. */
  readonly folder: string;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly out: Terminal;
  readonly err: Terminal;
  readonly now: () => number;
  readonly interrupted: () => AbortSignal;
  readonly onInterrupt: Context['onInterrupt'];
  readonly person: (anyInput: boolean) => Person | undefined;
  readonly hiddenLine?: Context['hiddenLine'];
  /** Another `perdure` with these arguments, which outlives this one. */
  readonly startDetached: (args: readonly string[], options: { readonly folder: string; readonly env: Env }) => void;
  readonly openRuntime: (options: RuntimeOptions) => Promise<Runtime>;
}
