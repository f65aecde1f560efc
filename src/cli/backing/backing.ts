import type { Context } from '../parse/command.ts';

/** Where a command works: on a store, or on a server. */
export interface Backing
  extends Pick<
    Context,
    'server' | 'config' | 'wholeRuntime' | 'runtime' | 'storeName' | 'backUp' | 'workspaces' | 'worker' | 'startWorker'
  > {
  /** Options that the next command must repeat to reach the same place. */
  readonly given: Readonly<Record<string, string | undefined>>;
  /** Hides secrets in a text that is shown. */
  readonly shown: (text: string) => string;
  readonly close: () => Promise<void>;
}

/** Callbacks about the store being opened. */
export interface StoreWatch {
  /** Receives its address, which may contain a password. */
  readonly onStore: (address: string) => void;
  /** Receives the configuration that is being loaded, and undefined once it is loaded. */
  readonly onLoading: (config: string | undefined) => void;
}
