import type { Context } from '../parse/command.ts';

/** The store or server that a command works on. */
export interface Backing
  extends Pick<
    Context,
    | 'server'
    | 'config'
    | 'wholeRuntime'
    | 'runtime'
    | 'storeName'
    | 'backUp'
    | 'inspectStore'
    | 'workspaces'
    | 'worker'
    | 'startWorker'
    | 'workerProcesses'
  > {
  /** Options that a follow-up command must repeat to reach the same store or server. */
  readonly given: Readonly<Record<string, string | undefined>>;
  /** Replaces secrets in a text before it is shown. */
  readonly shown: (text: string) => string;
  readonly close: () => Promise<void>;
}

/** Callbacks about the store being opened. */
export interface StoreWatch {
  /** Receives the address of the store, which may contain a password. */
  readonly onStore: (address: string) => void;
  /** Receives the path of the configuration when loading begins, and undefined when it has been loaded. */
  readonly onLoading: (config: string | undefined) => void;
}
