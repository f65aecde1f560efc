import type { z } from 'zod';
import type { Client } from '../../client/index.ts';
import type { Workspaces } from '../../core/access/workspaces.ts';
import type { WorkerOptions } from '../../core/runs/worker-options.ts';
import type { ScopedRuntime } from '../../core/runtime/scoped-runtime.ts';
import type { Session } from '../../core/runtime/session.ts';
import type { Sessions } from '../../core/runtime/sessions.ts';
import type { Worker } from '../../core/worker/worker.ts';
import type { Runtime, RuntimeOptions, StoreInspection } from '../../runtime.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { OwnState } from '../../schema/state.ts';
import type { Status } from '../../schema/statuses.ts';
import type { Config } from '../config/config.ts';
import type { Person } from '../runs/person.ts';
import type { ParentProcess, startWorkerProcess, WorkerProcess } from '../serve/worker-process.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Ending } from './exit-codes.ts';

export type OptionSpec = { readonly about: string; readonly short?: string } & (
  | { readonly type: 'boolean' }
  /** `value` is the name of the expected value in the help. */
  | {
      readonly type: 'string';
      readonly value: string;
      readonly multiple?: boolean;
      /** All allowed values. */
      readonly choices?: readonly string[];
    }
);
export type Options = Readonly<Record<string, OptionSpec>>;
type Single<Spec> = Spec extends { readonly choices: readonly (infer Choice)[] } ? Choice : string;
type Value<Spec extends OptionSpec> = Spec extends { readonly type: 'boolean' }
  ? boolean
  : Spec extends { readonly multiple: true }
    ? readonly Single<Spec>[]
    : Single<Spec>;
export type Values<O extends Options> = { readonly [Name in keyof O]?: Value<O[Name]> | undefined };

export const flag = (about: string, short?: string) =>
  ({ type: 'boolean', about, ...(short && { short }) }) as const satisfies OptionSpec;
export const text = (value: string, about: string, short?: string) =>
  ({ type: 'string', value, about, ...(short && { short }) }) as const satisfies OptionSpec;
/** An option that may be repeated. */
export const texts = (value: string, about: string) =>
  ({ type: 'string', value, about, multiple: true }) as const satisfies OptionSpec;

/** An option that accepts only one of these values. */
export const choice = <const Choice extends string>(value: string, choices: readonly Choice[], about: string) =>
  ({ type: 'string', value, about, choices }) as const satisfies OptionSpec;
export const choicesOf = <const Choice extends string>(value: string, choices: readonly Choice[], about: string) =>
  ({ type: 'string', value, about, choices, multiple: true }) as const satisfies OptionSpec;

/** Options that choose the store or server, the configuration and the workspace. */
export const backingOptions = ['store', 'server', 'key-file', 'config', 'workspace'] as const;
export type BackingOption = (typeof backingOptions)[number];

/** `interrupt` is Ctrl-C. `leave` means that the process must end soon, for example at SIGTERM. */
export type Interrupt = 'interrupt' | 'leave';

/** Callbacks that observe a runtime at work. */
export interface Watching extends Pick<RuntimeOptions, 'spans' | 'onAppended' | 'notes'> {
  /** Receives warnings instead of stderr. */
  readonly warn?: (message: string) => void;
}

/** Parts of the environment that can differ between two calls within one process. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Current working folder. */
  readonly folder: string;
  /** Command by which this program is called from that folder. */
  readonly program: string;
  readonly out: Terminal;
  readonly err: Terminal;
  /** The person at the terminal. With `anyInput`, a pipe is accepted in place of a person. */
  readonly person: (anyInput: boolean) => Person | undefined;
  /**
   * Calls the listener at each Ctrl-C, which then no longer ends the process. The returned function unregisters the
   * listener.
   */
  readonly onInterrupt: (listener: (interrupt: Interrupt) => void) => () => void;
  /** Starts another `perdure` process, which outlives this one. */
  readonly startDetached: (
    args: readonly string[],
    options: { readonly folder: string; readonly env: Surroundings['env'] },
  ) => void;
  /** Starts another `perdure` process, which ends with this one. Absent where no process can be started. */
  readonly startWorkerProcess?: typeof startWorkerProcess;
  /** The server that supervises this process, if there is one. */
  readonly parent?: ParentProcess | undefined;
}

/** Everything that a command works with. */
export interface Context {
  readonly out: Terminal;
  readonly err: Terminal;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly json: boolean;
  readonly env: Surroundings['env'];
  /** Command by which this program is called from the current folder. */
  readonly program: string;
  readonly now: () => number;
  /** All commands, used by help and completion. */
  readonly commands: readonly Command[];
  /** Help pages. They are passed in, because importing them here would create an import cycle. */
  readonly help: {
    readonly topics: Readonly<Record<string, { readonly about: string }>>;
    readonly on: (words: readonly string[]) => {
      readonly lines: (out: Terminal) => readonly string[];
      readonly json: () => unknown;
    };
  };
  /** Opens the store at the first call. It is closed after the command, even if the command fails. */
  readonly sessions: () => Promise<Sessions>;
  /** Address of the server, if the command uses a server instead of a store. */
  readonly server?: string | undefined;
  /** The runtime on the store with the configured agents, or the client of the server. */
  readonly runtime: () => Promise<ScopedRuntime | Client>;
  readonly workspaces: () => Promise<Workspaces>;
  /**
   * The runtime itself, not scoped to a member, for commands that serve other users. The first call may pass
   * observers.
   */
  readonly wholeRuntime: (watching?: Watching) => Promise<Runtime>;
  /** Address of the store, without its password. */
  readonly storeName: () => string;
  /** Copies the store into a new file, and returns its size in bytes. The store is not opened for sessions. */
  readonly backUp: (file: string) => Promise<number>;
  /** Looks at the store without opening or migrating it. */
  readonly inspectStore: () => Promise<{ readonly store: StoreInspection; readonly data: string }>;
  readonly config: () => Promise<Config>;
  /** The person at the terminal. With `anyInput`, a pipe is accepted too, for commands that read lines. */
  readonly person: (options?: { readonly anyInput: boolean }) => Person | undefined;
  /**
   * Reads a line from the terminal without echoing it. This function is undefined when the input is not a terminal.
   */
  readonly hiddenLine?: ((prompt: string) => Promise<string | undefined>) | undefined;
  readonly onInterrupt: Surroundings['onInterrupt'];
  /** Creates a worker in this process, for the given workspace or for all. */
  readonly worker: (options: WorkerOptions) => Promise<Worker>;
  /**
   * Returns a function that starts a worker process on the same store. Returns undefined if no other process can open
   * the store.
   */
  readonly workerProcesses: () => Promise<((args: readonly string[]) => WorkerProcess) | undefined>;
  readonly parent?: ParentProcess | undefined;
  /** Starts a detached process that works on the session until nothing is left to do. */
  readonly startWorker: (session: Session) => void;
  /** Returns the text of a follow-up command, with the store and configuration options of this call. */
  readonly commandText: (...words: readonly string[]) => string;
  /**
   * Finds a session by its id or by a prefix or suffix of its id. `-` means the most recent session that is not
   * archived, or that has a status in `lastOf`.
   */
  readonly sessionId: (named: string, lastOf?: readonly Status[]) => Promise<SessionId>;
  readonly session: (named: string, lastOf?: readonly Status[]) => Promise<Session<OwnState>>;
  /** Runs another command within this process and returns its exit code. */
  readonly call: (argv: readonly string[], elsewhere: Partial<Surroundings>) => Promise<number>;
  /** Returns a signal that aborts on Ctrl-C. After the first call, Ctrl-C no longer ends the process by itself. */
  readonly interrupted: () => AbortSignal;
  /** Writes the only answer of a command: the value as JSON with `--json`, otherwise the lines. */
  readonly answer: (value: unknown, lines: () => string | readonly string[]) => Promise<void>;
  /** Writes a note for people to stderr. With `--json`, nothing is written. */
  readonly note: (text: string) => Promise<void>;
}

export interface Call<O extends Options> {
  readonly args: readonly string[];
  readonly options: Values<O>;
}

export interface Command<O extends Options = Options> {
  readonly name: string;
  readonly summary: string;
  /** `SESSION` is required, `[TEXT]` is optional, `…` allows any number. */
  readonly args: readonly string[];
  readonly options: O;
  /** Further explanations, shown below the options. */
  readonly notes?: readonly string[];
  readonly examples: readonly string[];
  /** Shape of the `--json` output: one value, or with `jsonLines` one value per line. */
  readonly json: z.ZodType;
  readonly jsonLines?: true;
  /** The backing options that this command accepts, by default all. */
  readonly backingOptions?: readonly BackingOption[];
  /** Set for the command that is the server itself, to which PERDURE_SERVER does not apply. */
  readonly isServer?: true;
  /** Set if the command only reads logs and records. The built-in agent, which is slow to load, is then not loaded. */
  readonly needsNoAgents?: true;
  /**
   * Whether the command creates a missing store: always, or depending on the call. Other commands report that the
   * store does not exist.
   */
  readonly makesStore?: true | ((call: Call<O>) => boolean);
  run(context: Context, call: Call<O>): Promise<Ending | undefined>;
}

/** Types the options by name inside `run`, and erases these types outside. */
export const defineCommand = <const O extends Options>(command: Command<O>): Command => command as unknown as Command;
