import type { RuntimeOptions } from '../../runtime.ts';

export type Agent = NonNullable<RuntimeOptions['agents']>[number];

/** The content of `perdure.config.ts`, as the commands use it. */
export interface Config {
  /** Results of `defineAgent`: the agents whose sessions the commands can work on. */
  readonly agents: readonly Agent[];
  /** Providers and models beyond those from the environment. */
  readonly models?: RuntimeOptions['models'];
  /** Used when neither `--store` nor PERDURE_STORE is given. */
  readonly store?: RuntimeOptions['store'];
  /** Folder for worktrees on this machine, relative to the configuration file. */
  readonly data?: string;
  /** The file that the configuration was read from; absent for the built-in configuration. */
  readonly file?: string;
}
