import type { RuntimeOptions } from '../../runtime.ts';

export type Agent = NonNullable<RuntimeOptions['agents']>[number];

/** What `perdure.config.ts` gives, as the commands use it. */
export interface Config {
  readonly agents: readonly Agent[];
  readonly models?: RuntimeOptions['models'];
  readonly store?: RuntimeOptions['store'];
  /** Where this machine keeps worktrees. */
  readonly data?: string;
  /** Where it was read from; absent for the built-in one. */
  readonly file?: string;
}
