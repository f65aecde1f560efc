export type { Audit, AuditPage } from './core/access/audit.ts';
export type { Authenticated } from './core/access/authenticate.ts';
export type { Identity } from './core/access/identity.ts';
export type { KeyRequest, Keys, NewKey } from './core/access/keys.ts';
export type { MemberChange, Members, NewMember } from './core/access/members.ts';
export type { Quotas } from './core/access/quotas.ts';
export type { Workspace, Workspaces } from './core/access/workspaces.ts';
export type { BundleVerification } from './core/bundles/verify-bundle.ts';
export type { Compaction, CompactOptions } from './core/context/compact.ts';
export type { ContextOptions } from './core/context/context.ts';
export type { TranscriptEntry, TranscriptOptions, TranscriptPage } from './core/context/transcript.ts';
export type { ChangesOptions, SessionChange } from './core/engine/changes.ts';
export type { EventsOptions } from './core/engine/events.ts';
export type { DiffPlace, PlaceRef } from './core/engine/places.ts';
export type { SnapshotPolicy } from './core/engine/session-folds.ts';
export type { FileChange } from './core/files/changes.ts';
export type { FileDiff } from './core/files/text-diff.ts';
export type { BlobCount, Collected, GcOptions, GcProgress } from './core/maintenance/gc.ts';
export type { Verification, VerifyOptions, VerifyProgress } from './core/maintenance/verify.ts';
export type { Clock } from './core/ports/clock.ts';
export type { Queue } from './core/ports/queue.ts';
export type { OpenSpan, SpanAttributes, SpanStart, Spans } from './core/ports/spans.ts';
export type { CallRecord, CallStatus, Imported, Store } from './core/ports/store.ts';
export {
  type ApprovalRule,
  type Effects,
  type Reconciled,
  type Tool,
  type ToolContext,
  ToolFailure,
  type ToolHandoff,
} from './core/ports/tool.ts';
export type { AnswerOptions, Approvals, ApproveOptions, HeldSession, PendingApproval } from './core/runs/approvals.ts';
export type { HandoffOptions } from './core/runs/handoff.ts';
export type { RunPage, RunsOptions, WorkspaceRunPage } from './core/runs/list-runs.ts';
export type { Retry } from './core/runs/retry.ts';
export type { Run } from './core/runs/runs.ts';
export type { SendInput, SendOptions } from './core/runs/send.ts';
export type { SessionUsage } from './core/runs/usage.ts';
export type { WaitingInput } from './core/runs/waiting-inputs.ts';
export type { WorkerOptions } from './core/runs/worker-options.ts';
export type { UsageQuery } from './core/runs/workspace-usage.ts';
export type { ScopedRuntime } from './core/runtime/scoped-runtime.ts';
export type { Repair, Session, SessionOf } from './core/runtime/session.ts';
export type { ListOptions, SessionPage, Sessions } from './core/runtime/sessions.ts';
export {
  type Agent,
  type AgentDefinition,
  defineAgent,
  type ModelChoice,
  type ModelFailurePolicy,
  type OutputOf,
  type OwnOf,
} from './core/session/agent.ts';
export type { Context } from './core/session/context/context.ts';
export type { DroppedEntry, Summarize, Summary } from './core/session/context/extraction.ts';
export type { EvictedContent } from './core/session/context/recall-key.ts';
export { summarizeWith } from './core/session/context/summarize-with.ts';
export type { Matched } from './core/session/diff/compare-sides.ts';
export type { SideCall, SideCommit, SideMessage, SideModel, SideOutcome } from './core/session/diff/side.ts';
export type { ModelDifference, UsageDifference } from './core/session/diff/side-changes.ts';
export type { SideUsage } from './core/session/diff/side-usage.ts';
export type { WordPart } from './core/session/diff/word-diff.ts';
export type { Artifact } from './core/session/files-fold.ts';
export type { CommitRecord } from './core/session/state/commit-record.ts';
export type { KeepOptions, SessionArtifacts } from './core/session-files/artifacts.ts';
export type { FilesDiff } from './core/session-files/compare-files.ts';
export type { CopiedFiles } from './core/session-files/copy-files.ts';
export type { FileVersion, HistoryOptions } from './core/session-files/file-history.ts';
export type { ListedFile } from './core/session-files/read-files.ts';
export type { RestoredFiles, RestoreFilesOptions } from './core/session-files/restore-files.ts';
export type { SessionFiles } from './core/session-files/session-files.ts';
export type { DeleteOptions, WriteOptions, WrittenFile } from './core/session-files/write-file.ts';
export type { Adoption, AdoptOptions } from './core/sessions/adopt.ts';
export type { AttemptPage, AttemptsOptions, TurnAttempt } from './core/sessions/attempts.ts';
export type { ForkOptions } from './core/sessions/fork.ts';
export type { OpenOptions } from './core/sessions/open-session.ts';
export type { Rewind, RewindOptions } from './core/sessions/rewind.ts';
export type { TreeNode } from './core/sessions/tree.ts';
export type { Change, CommitOptions } from './core/state/commit.ts';
export type { CallPage, CommitPage } from './core/state/commits.ts';
export type { ComparedBranch, ComparedDecision, ComparedFile, Comparison, FirstOf } from './core/state/compare.ts';
export type {
  AnswerDifference,
  DiffCounts,
  DifferingMessage,
  DiffOptions,
  SessionDiff,
} from './core/state/diff.ts';
export type { EntryCommit } from './core/state/entry-commits.ts';
export type { FileDifference } from './core/state/file-differences.ts';
export type { StateOptions } from './core/state/read-state.ts';
export type { CallFilter, CommitFilter } from './core/state/record-filter.ts';
export type { ClearTaintOptions } from './core/state/taint.ts';
export type { TraceOptions } from './core/state/trace.ts';
export type { Vault } from './core/vault/vault.ts';
export type { Dispatcher, DispatcherOptions } from './core/webhooks/dispatcher.ts';
export type {
  DeliveryPage,
  NewWebhook,
  WebhookChanges,
  WebhookRequest,
  Webhooks,
} from './core/webhooks/webhooks.ts';
export type { Replay, ReplayOptions } from './core/worker/replay.ts';
export type { Worker } from './core/worker/worker.ts';
export { fromModelMessages, type ModelMessageLike, toModelMessages } from './models/model-messages.ts';
export { defineScript, type Script, type ScriptDefinition } from './models/script.ts';
export { openRuntime, type Runtime, type RuntimeOptions } from './runtime.ts';
export type { Area } from './schema/areas.ts';
export type { AuditEntry } from './schema/audit-entry.ts';
export type { Damage, LostCall } from './schema/damage.ts';
export { type ErrorCode, isPerdureError, PerdureError } from './schema/error.ts';
export type { EventType, PayloadOf, SessionEvent } from './schema/event.ts';
export type {
  Actor,
  AuditId,
  CallId,
  KeyId,
  MemberId,
  MessageId,
  RunId,
  SessionId,
  WorkspaceId,
} from './schema/ids.ts';
export type { Json, Metadata } from './schema/json.ts';
export type { KeyInfo } from './schema/key-info.ts';
export type { Holder, Status } from './schema/lifecycle.ts';
export type { Member, MemberRole, Profile } from './schema/member.ts';
export type { Message, MessageInput, Role, ToolOutcome } from './schema/message.ts';
export type { Attempt, Point } from './schema/point.ts';
export type { RunFailureCode } from './schema/run-failure-catalog.ts';
export type { AnswerPiece, EventPart, ProgressPiece, RunPart } from './schema/run-part.ts';
export type {
  CancelledRun,
  EndedRun,
  FailedRun,
  PausedRun,
  RunResult,
  RunUnderWay,
  SucceededRun,
  WaitingRun,
} from './schema/run-result.ts';
export type { Said } from './schema/said.ts';
export type { SecretInfo } from './schema/secret-info.ts';
export type { OwnState, PatchOperation, Provenance, ShownState, State } from './schema/state.ts';
export type { SessionSummary } from './schema/summary.ts';
export type { Taint, TaintReport, TaintSource } from './schema/taint.ts';
export type { TaintPolicy } from './schema/taint-kinds.ts';
export type { Trace, TraceEdge, TraceNode } from './schema/trace.ts';
export type { UsageAmounts, UsageGroup, UsageReport, UsageRow } from './schema/views/usage.ts';
export type { Waiting, WaitingEntry } from './schema/waiting.ts';
export type { Delivery, DeliveryAttempt, Webhook, WebhookEvent, WebhookMessage } from './schema/webhook.ts';
export { defineTool, type ToolDefinition, type ToolRetry } from './tools/define-tool.ts';
export { verifyBundle } from './verify-bundle.ts';
