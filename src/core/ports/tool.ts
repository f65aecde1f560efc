import type { RunId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { MemberRole } from '../../schema/member.ts';
import type { RepeatPolicy as DeclaredPolicy, Effects as LoggedEffects } from '../../schema/message.ts';
import type { State } from '../../schema/state.ts';
import type { JsonSchema } from './json-schema.ts';

/**
 * The effect of running a call twice. `none`: the call has no effects. `idempotent`: no further effect under the same
 * idempotency key. `once`: a second execution can do harm.
 */
export type Effects = LoggedEffects;

/**
 * What happens to a `once` call that repeats an earlier one outside the session's live lineage: a person is asked, the
 * call is refused, or it runs.
 */
export type RepeatPolicy = DeclaredPolicy;

export interface ToolContext {
  /** The tenant that the session belongs to. */
  readonly workspace: WorkspaceId;
  /** The session that the call is made in. */
  readonly session: SessionId;
  /** The run that makes the call. */
  readonly run: RunId;
  /** The id of the call. */
  readonly callId: string;
  /**
   * The same for every attempt of this call, and unique to this call. Pass it on to services that accept an
   * idempotency key.
   */
  readonly idempotencyKey: string;
  /** Which attempt this is, counted from 1. */
  readonly attempt: number;
  /**
   * Aborts when the call is cancelled, when it times out, or when the worker loses the session. The tool must then
   * stop, because files written later may be attributed to the next call.
   */
  readonly signal: AbortSignal;
  /**
   * The values of the secrets that the tool names. They are redacted from everything that the tool returns, throws,
   * stores or shows.
   */
  readonly secrets: Readonly<Record<string, string>>;
  /** The folder that the session works in: its worktree. */
  readonly folder: string;
  /** A folder of the session for temporary files. */
  readonly temporary: string;
  /** The typed state as it was when the call began. */
  readonly state: State;
  /** The value that this tool stored with `keep` at its last call in this session. Undefined if it stored nothing. */
  readonly kept: Json | undefined;
  /**
   * Stores a value for the tool's next call in this session. The value is written together with the outcome of this
   * call.
   */
  keep(value: Json): void;
  /** Stores a file or a value by name, for people. A later version of the same name replaces the earlier one. */
  keepArtifact(
    name: string,
    content: Uint8Array | string,
    about?: { readonly mediaType?: string; readonly path?: string },
  ): Promise<void>;
  /** Shows text to people while the call runs. It is not part of the outcome. */
  progress(text: string): void;
  /** Reads content that was left out of the model's context, by its key or name. */
  recall(key: string): Promise<unknown>;
  /**
   * Lets another agent do a task in a child session. The child shares this session's budget and is cancelled with it.
   * While the child waits for a person, no worker is occupied: `signal` aborts, and the call runs again when the child
   * continues. A call with effects `once` keeps waiting on its worker instead.
   */
  delegate(agent: { readonly name: string; readonly version: number }, task: string): Promise<Delegated>;
}

/** How the delegated task ended, and in which session it was done. */
export type Delegated = { readonly session: SessionId } & (
  | { readonly status: 'succeeded'; readonly output: Json }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } }
  | { readonly status: 'cancelled' }
);

/** The outcome of a call whose worker died, as the tool finds it. If it is `unknown`, the model is informed. */
export type Reconciled =
  | { readonly outcome: 'ok'; readonly output: unknown }
  | { readonly outcome: 'not-run' }
  | { readonly outcome: 'unknown'; readonly message?: string };

export interface ApprovalRule {
  /** The roles that may approve or deny. By default approver and admin. */
  readonly roles?: readonly MemberRole[] | undefined;
  /**
   * Whether a second person has to decide. Excludes every member whose words, files or edits entered the session or
   * its subagents since the previous run ended, and the requester.
   */
  readonly notRequester?: boolean | undefined;
  /** After this time without an answer, the call is denied. By default the call waits without limit. */
  readonly expiresInMs?: number | undefined;
}

type FileChange = State['filesModified'][string]['change'];
/** Collections of the state that a tool may write, with entries by id. */
export type LedgerDraft = { -readonly [Part in keyof State]: Record<string, State[Part][string]> };

/** A handoff that a tool requests. Without `to`, any person may act as the holder. */
export interface ToolHandoff {
  readonly to?: { readonly member: string } | { readonly role: Exclude<MemberRole, 'viewer'> } | undefined;
  readonly reason: string;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** A warning for people about this tool on this host. */
  readonly caution?: string | undefined;
  readonly inputSchema: JsonSchema;
  readonly effects: Effects;
  /**
   * Set for a tool that runs programs which session files can influence. `open` means that this host has no working
   * sandbox, so a person must approve each of them. `off` means that the deployment switched the sandbox off.
   */
  readonly confinement?: 'sandboxed' | 'open' | 'off' | undefined;
  /** Whether all effects of this call are in the session's folder and state, so that going back undoes them. */
  isConfined(input: Json): boolean;
  readonly repeat: RepeatPolicy;
  /** The names of the secrets that the tool receives. */
  readonly secrets: readonly string[];
  /**
   * Whether the tool works in the session's folder, so that the folder is updated before a call and scanned after it.
   */
  readonly usesFiles: boolean;
  /** The approval as the author wrote it: a rule, or that a function decides. Only used to detect a changed definition. */
  readonly approval?: boolean | ApprovalRule | 'computed' | undefined;
  /**
   * Returns the approval that a call with this input needs. Returns undefined if the call may run without approval.
   */
  approvalFor(
    input: Json,
    context: { readonly state: State },
  ): ApprovalRule | undefined | Promise<ApprovalRule | undefined>;
  readonly timeoutMs: number;
  /** The number of further attempts after a failure, if the effects allow a retry. */
  readonly retry: { readonly times: number; readonly backoffMs: number };
  /** Parses the input for `execute`, or returns what is wrong with it. */
  parse(input: Json): { readonly value: unknown } | { readonly problem: string };
  /** Set for a tool that asks a person. The run waits for the person's answer, and `execute` is not called. */
  question?(input: never): { readonly text: string; readonly options?: readonly string[] | undefined };
  /**
   * Set for a tool that hands the session to a person. The run waits until the session is handed back, `execute` is not
   * called, and the result reports what people did.
   */
  handoff?(input: never): ToolHandoff;
  execute(input: never, context: ToolContext): unknown;
  reconcile?(input: never, context: ToolContext): Promise<Reconciled> | Reconciled;
  readonly trusted: boolean;
  /** Whether the tool reads the outside world. Its results are marked as data, and taint the session. */
  readonly untrusted: boolean;
  /** Whether a `once` call may run without an approval although data from outside is in the context. */
  readonly safeWhenTainted: boolean;
  /** The outside server that wrote the description and the input schema. Absent if the author of the agent did. */
  readonly describedBy?: string | undefined;
  /**
   * The paths of the session's folder that a call reads. A folder stands for everything in it. Without this, a call of a
   * tool that uses files may read all of them.
   */
  reads?(input: never): readonly string[];
  /** Describes the output in one line for people. */
  summarize?(output: never, input: never): string;
  /** The changed files that a successful call records in the state. */
  files?(input: never, output: never): Readonly<Record<string, FileChange>>;
  decisions?(input: never, output: never): Readonly<Record<string, State['decisions'][string]>>;
  change?(draft: LedgerDraft, input: never, output: never): void;
}

/** An expected failure of a tool, as opposed to a defect. The model receives the message. */
export class ToolFailure extends Error {
  override readonly name: string = 'ToolFailure';
}
