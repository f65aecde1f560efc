import type { Context } from '../parse/command.ts';

/** What a command works on: a store, or a server that has one. */
export interface Backing
  extends Pick<
    Context,
    'server' | 'config' | 'wholeRuntime' | 'runtime' | 'storeName' | 'backUp' | 'workspaces' | 'worker' | 'startWorker'
  > {
  /** What a command to type next has to be told again. */
  readonly given: Readonly<Record<string, string | undefined>>;
  /** A text as it may be shown. */
  readonly shown: (text: string) => string;
  readonly close: () => Promise<void>;
}

/** Told of what a store brings with it. */
export interface StoreWatch {
  /** Its address, which may hold a password. */
  readonly onStore: (address: string) => void;
  /** The configuration that is being loaded, until there is none. */
  readonly onLoading: (config: string | undefined) => void;
}
