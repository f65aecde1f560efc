import type { RuntimeOptions } from '../../runtime.ts';

export type Agent = NonNullable<RuntimeOptions['agents']>[number];

/** What `perdure.config.ts` gives, as the commands use it. */
export interface Config {
  /** What `defineAgent` made: the agents whose sessions the commands can work on. */
  readonly agents: readonly Agent[];
  /** Providers and models beyond what the environment says. */
  readonly models?: RuntimeOptions['models'];
  /** Where `--store` and PERDURE_STORE do not say. */
  readonly store?: RuntimeOptions['store'];
  /** Where this machine keeps worktrees, from the folder of the file on. */
  readonly data?: string;
  /** Where it was read from; absent for the built-in one. */
  readonly file?: string;
}
