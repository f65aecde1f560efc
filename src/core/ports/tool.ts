import type { RunId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { MemberRole } from '../../schema/member.ts';
import type { State } from '../../schema/state.ts';
import type { JsonSchema } from './json-schema.ts';

/** What running a call twice would do: nothing more, nothing more under the same key, or harm. */
export type Effects = 'none' | 'idempotent' | 'once';

export interface ToolContext {
  /** The tenant that the session belongs to. */
  readonly workspace: WorkspaceId;
  /** The session that the call is made in. */
  readonly session: SessionId;
  /** The run that makes the call. */
  readonly run: RunId;
  /** The id of the call. */
  readonly callId: string;
  /** The same for every attempt of this call, and for no other call. Pass it on to services that take one. */
  readonly idempotencyKey: string;
  /** Which attempt this is, counted from 1. */
  readonly attempt: number;
  /** Aborted by a cancel, by the timeout, or when the worker has lost the session. Stop then: what a tool writes afterwards may be taken for the work of the next call. */
  readonly signal: AbortSignal;
  /** The values of the secrets that the tool names. They are taken out of whatever the tool returns, throws, keeps or shows. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The folder that the session works in: its worktree. */
  readonly folder: string;
  /** A folder of the session for files that may be thrown away. */
  readonly temporary: string;
  /** The typed state as it was when the call began. */
  readonly state: State;
  /** What this tool kept at its last call in this session; undefined if it kept nothing. */
  readonly kept: Json | undefined;
  /** Keeps a value for the tool's next call in this session. It is stored together with the outcome of this call. */
  keep(value: Json): void;
  /** Keeps a file or a value for people, by name. The newest of a name counts. */
  keepArtifact(
    name: string,
    content: Uint8Array | string,
    about?: { readonly mediaType?: string; readonly path?: string },
  ): Promise<void>;
  /** Shows text to people while the call runs. It is not part of the outcome. */
  progress(text: string): void;
  /** Reads what was left out of the model's context, by its key. */
  recall(key: string): Promise<unknown>;
  /**
   * Has another agent do a task, in a session of its own that shares this session's budget and is cancelled with it. While that session
   * waits for somebody, no worker waits with it: unless the effects are `once`, `signal` is aborted, and the call runs again when that
   * session goes on.
   */
  delegate(agent: { readonly name: string; readonly version: number }, task: string): Promise<Delegated>;
}

/** How the task ended, and in which session it was done. */
export type Delegated = { readonly session: SessionId } & (
  | { readonly status: 'succeeded'; readonly output: Json }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } }
  | { readonly status: 'cancelled' }
);

/** What became of a call whose runner died. `unknown` is told to the model as such. */
export type Reconciled =
  | { readonly outcome: 'ok'; readonly output: unknown }
  | { readonly outcome: 'not-run' }
  | { readonly outcome: 'unknown'; readonly message?: string };

export interface ApprovalRule {
  /** The roles that may answer. Without it: approver and admin. */
  readonly roles?: readonly MemberRole[] | undefined;
  /** Whether those are refused who asked for the run or steered it, so that a second person has to look. */
  readonly notRequester?: boolean | undefined;
  /** After this time without an answer, the call counts as denied. Without it, it waits as long as it takes. */
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
