import type { z } from 'zod';
import type { Client } from '../../client/index.ts';
import type { Workspaces } from '../../core/access/workspaces.ts';
import type { ScopedRuntime } from '../../core/runtime/scoped-runtime.ts';
import type { Session } from '../../core/runtime/session.ts';
import type { Sessions } from '../../core/runtime/sessions.ts';
import type { Worker, WorkerOptions } from '../../core/runtime/workers.ts';
import type { Runtime, RuntimeOptions } from '../../runtime.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { OwnState } from '../../schema/state.ts';
import type { Status } from '../../schema/statuses.ts';
import type { Config } from '../config/config.ts';
import type { Person } from '../runs/person.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Ending } from './exit-codes.ts';

export type OptionSpec = { readonly about: string; readonly short?: string } & (
  | { readonly type: 'boolean' }
  /** `value` names what is expected, for the help. */
  | {
      readonly type: 'string';
      readonly value: string;
      readonly multiple?: boolean;
      /** All that it takes. */
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
/** May be given several times. */
export const texts = (value: string, about: string) =>
  ({ type: 'string', value, about, multiple: true }) as const satisfies OptionSpec;

/** One of these and nothing else. */
export const choice = <const Choice extends string>(value: string, choices: readonly Choice[], about: string) =>
  ({ type: 'string', value, about, choices }) as const satisfies OptionSpec;
export const choicesOf = <const Choice extends string>(value: string, choices: readonly Choice[], about: string) =>
  ({ type: 'string', value, about, choices, multiple: true }) as const satisfies OptionSpec;

/** Options that say where a command works and for whom. */
export const backingOptions = ['store', 'server', 'key-file', 'config', 'workspace'] as const;
export type BackingOption = (typeof backingOptions)[number];

/** `interrupt` is Ctrl-C; `leave` asks to go at once. */
export type Interrupt = 'interrupt' | 'leave';

/** Who is told what a runtime does. */
export interface Watching extends Pick<RuntimeOptions, 'spans' | 'onAppended'> {
  /** In place of stderr as it is. */
  readonly warn?: (message: string) => void;
}

/** What one call may find otherwise than another within the same process. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The current one. */
  readonly folder: string;
  /** How this program is called from there. */
  readonly program: string;
  readonly out: Terminal;
  readonly err: Terminal;
  /** Whoever types. */
  readonly person: (anyInput: boolean) => Person | undefined;
  /** Tells each Ctrl-C until it is ended, in place of ending the process. */
  readonly onInterrupt: (listener: (interrupt: Interrupt) => void) => () => void;
  /** Another `perdure` with these arguments, which outlives this one. */
  readonly startDetached: (
    args: readonly string[],
    options: { readonly folder: string; readonly env: Surroundings['env'] },
  ) => void;
}

/** What a command is given to work with. */
export interface Context {
  readonly out: Terminal;
  readonly err: Terminal;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly json: boolean;
  readonly env: Surroundings['env'];
  /** How this program is called from the current folder. */
  readonly program: string;
  readonly now: () => number;
  /** All that there are, for what tells of them. */
  readonly commands: readonly Command[];
  /** What is told of them, and what can be asked for beside them: given, as who imports it would import itself. */
  readonly help: {
    readonly topics: Readonly<Record<string, { readonly about: string }>>;
    readonly on: (words: readonly string[]) => {
      readonly lines: (out: Terminal) => readonly string[];
      readonly json: () => unknown;
    };
  };
  /** Opens the store at the first call; it is closed after the command, however that ends. */
  readonly sessions: () => Promise<Sessions>;
  /** The server that is asked in place of a store. */
  readonly server?: string | undefined;
  /** The store with the agents of the configuration, or what a server gives. */
  readonly runtime: () => Promise<ScopedRuntime | Client>;
  readonly workspaces: () => Promise<Workspaces>;
  /** The same without a member, for those who serve others; the first call may say who watches it at work. */
  readonly wholeRuntime: (watching?: Watching) => Promise<Runtime>;
  /** The store's address, without its password. */
  readonly storeName: () => string;
  /** Copies the store itself into a new file, and opens nothing else of it; gives its size in bytes. */
  readonly backUp: (file: string) => Promise<number>;
  readonly config: () => Promise<Config>;
  /** Whoever sits at the terminal; a pipe counts when a command reads lines from anyone. */
  readonly person: (options?: { readonly anyInput: boolean }) => Person | undefined;
  /** What somebody types at the terminal without its being shown; undefined where the input is no terminal. */
  readonly hiddenLine?: ((prompt: string) => Promise<string | undefined>) | undefined;
  readonly onInterrupt: Surroundings['onInterrupt'];
  /** In this process, of the workspace that was named or of all. */
  readonly worker: (options: WorkerOptions) => Promise<Worker>;
  /** A process of its own that works on the session until there is nothing to do, and outlives this one. */
  readonly startWorker: (session: Session) => void;
  /** A command to type next, with the store and the configuration that this call was given. */
  readonly commandText: (...words: readonly string[]) => string;
  /** The session that an argument names: whole, by its beginning or end, or `-` for the most recent, without archived ones or of `lastOf`. */
  readonly sessionId: (named: string, lastOf?: readonly Status[]) => Promise<SessionId>;
  readonly session: (named: string, lastOf?: readonly Status[]) => Promise<Session<OwnState>>;
  /** Another call of this command line within this process; gives its exit code. */
  readonly call: (argv: readonly string[], elsewhere: Partial<Surroundings>) => Promise<number>;
  /** Aborted by Ctrl-C. Asking for it takes over from the signal's ending the process. */
  readonly interrupted: () => AbortSignal;
  /** The one answer of a command: the value as JSON where that was asked for, else the lines. */
  readonly answer: (value: unknown, lines: () => string | readonly string[]) => Promise<void>;
  /** What a person should know beside the answer; programs are not told. */
  readonly note: (text: string) => Promise<void>;
}

export interface Call<O extends Options> {
  readonly args: readonly string[];
  readonly options: Values<O>;
}

export interface Command<O extends Options = Options> {
  readonly name: string;
  readonly summary: string;
  /** `SESSION` is needed, `[TEXT]` may be left out, `…` means any number of them. */
  readonly args: readonly string[];
  readonly options: O;
  /** More to know, below the options. */
  readonly notes?: readonly string[];
  readonly examples: readonly string[];
  /** What `--json` writes: one value, or one on each line. */
  readonly json: z.ZodType;
  readonly jsonLines?: true;
  /** Those that mean something to it; all of them without it. Every other is refused. */
  readonly backingOptions?: readonly BackingOption[];
  /** Is the server that others ask: the one that PERDURE_SERVER names is none of its business. */
  readonly isServer?: true;
  /** Only reads logs and records: the built-in agent, which takes its time to load, is no part of it. */
  readonly needsNoAgents?: true;
  /** Makes the store where there is none yet, always or when called so. All others say that there is none. */
  readonly makesStore?: true | ((call: Call<O>) => boolean);
  run(context: Context, call: Call<O>): Promise<Ending | undefined>;
}

/** Lets the compiler know the options by name inside `run`, and forgets them outside. */
export const defineCommand = <const O extends Options>(command: Command<O>): Command => command as unknown as Command;
