import type { RunId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { MemberRole } from '../../schema/member.ts';
import type { State } from '../../schema/state.ts';
import type { JsonSchema } from './json-schema.ts';

/** What running a call twice would do: nothing more, nothing more under the same key, or harm. */
export type Effects = 'none' | 'idempotent' | 'once';

export interface ToolContext {
  readonly workspace: WorkspaceId;
  readonly session: SessionId;
  readonly run: RunId;
  readonly callId: string;
  /** The same for every attempt of this call, and for no other call. */
  readonly idempotencyKey: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** Aborted by a cancel, a timeout, or when the worker has lost the session. A tool that goes on all the same writes beside the next call, and what it writes is told as that one's. */
  readonly signal: AbortSignal;
  /** The values of the secrets that the tool names. What it gives back, throws, keeps or shows is told without them. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The folder that the session works in: its worktree. */
  readonly folder: string;
  /** For what is thrown away; the session's own too. */
  readonly temporary: string;
  /** The state when the call began. */
  readonly state: State;
  /** What the tool kept at its last call in this session. */
  readonly kept: Json | undefined;
  /** Kept with the outcome, for the next call. */
  keep(value: Json): void;
  /** A file or a value for people, kept by its name; the newest of a name counts. */
  keepArtifact(
    name: string,
    content: Uint8Array | string,
    about?: { readonly mediaType?: string; readonly path?: string },
  ): Promise<void>;
  /** Shown while the call runs; not part of its outcome. */
  progress(text: string): void;
  /** What was left out of the context, by its key. */
  recall(key: string): Promise<unknown>;
  /**
   * Lets another agent do something in a session of its own, which shares this one's budget and ends with its cancel. While that
   * session waits for somebody, a call that may run again is left (its signal is aborted), and runs again when the session goes on.
   */
  delegate(agent: { readonly name: string; readonly version: number }, task: string): Promise<Delegated>;
}

export interface Delegated {
  readonly session: SessionId;
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly output?: Json | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

/** What became of a call whose runner died. `unknown` is told to the model as such. */
export type Reconciled =
  | { readonly outcome: 'ok'; readonly output: unknown }
  | { readonly outcome: 'not-run' }
  | { readonly outcome: 'unknown'; readonly message?: string };

export interface ApprovalRule {
  /** Who may answer; by default approvers and admins. */
  readonly roles?: readonly MemberRole[] | undefined;
  /** Not a member whose input the run answers, or was steered by. */
  readonly notRequester?: boolean | undefined;
  /** When nobody has answered by then, it counts as denied. */
  readonly expiresInMs?: number | undefined;
}

type FileChange = State['filesModified'][string]['change'];
/** Collections of the state that a tool may write, each entry by its id. */
export type LedgerDraft = { -readonly [Part in keyof State]: Record<string, State[Part][string]> };

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** What people should know of it on this host. */
  readonly caution?: string | undefined;
  readonly inputSchema: JsonSchema;
  readonly effects: Effects;
  /** The names of those that it is given the values of. */
  readonly secrets: readonly string[];
  /** Whether it works in the session's folder: what is there is brought up to date before, and looked at after. */
  readonly usesFiles: boolean;
  /** Undefined when the call may run at once. */
  approvalFor(
    input: Json,
    context: { readonly state: State },
  ): ApprovalRule | undefined | Promise<ApprovalRule | undefined>;
  readonly timeoutMs: number;
  /** Further attempts after a failure; only where effects allow it. */
  readonly retry: { readonly times: number; readonly backoffMs: number };
  /** The input as `execute` gets it, or what is wrong with it. */
  parse(input: Json): { readonly value: unknown } | { readonly problem: string };
  /** Set for a call that a person answers: the run waits, and nothing is executed. */
  question?(input: never): { readonly text: string; readonly options?: readonly string[] | undefined };
  execute(input: never, context: ToolContext): unknown;
  reconcile?(input: never, context: ToolContext): Promise<Reconciled> | Reconciled;
  readonly trusted: boolean;
  /** A line for people. */
  summarize?(output: never, input: never): string;
  /** What a call that went well changes in the state. */
  files?(input: never, output: never): Readonly<Record<string, FileChange>>;
  decisions?(input: never, output: never): Readonly<Record<string, State['decisions'][string]>>;
  change?(draft: LedgerDraft, input: never, output: never): void;
}

/** What a tool throws to be told apart from a defect: the model reads the message. */
export class ToolFailure extends Error {
  override readonly name: string = 'ToolFailure';
}
