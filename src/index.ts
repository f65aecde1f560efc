export type { FileChange } from './core/files/changes.ts';
export type { FileDiff } from './core/files/text-diff.ts';
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
} from './core/ports/tool.ts';
export type { Preview } from './core/run/preview.ts';
export type { Worker } from './core/run/worker.ts';
export type { WorkerOptions } from './core/run/worker-options.ts';
export type { Adoption, AdoptOptions } from './core/service/adopt.ts';
export type { Approvals, PendingApproval } from './core/service/approvals.ts';
export type { KeepOptions, SessionArtifacts } from './core/service/artifacts.ts';
export type { ChangesOptions, SessionChange } from './core/service/changes.ts';
export type { Change, CommitOptions } from './core/service/commit.ts';
export type { CallFilter, CommitFilter, CommitRecord } from './core/service/commits.ts';
export type { Compaction, CompactOptions } from './core/service/compact.ts';
export type { ContextOptions } from './core/service/context.ts';
export type { EntryCommit, SessionDiff } from './core/service/diff.ts';
export type { EventsOptions } from './core/service/events.ts';
export type { FilesDiff } from './core/service/files/compare-files.ts';
export type { CopiedFiles } from './core/service/files/copy-files.ts';
export type { FileVersion, HistoryOptions } from './core/service/files/file-history.ts';
export type { ListedFile } from './core/service/files/read-files.ts';
export type { RestoredFiles, RestoreFilesOptions } from './core/service/files/restore-files.ts';
export type { SessionFiles } from './core/service/files/session-files.ts';
export type { DeleteOptions, WriteOptions, WrittenFile } from './core/service/files/write-file.ts';
export type { ForkOptions } from './core/service/fork.ts';
export type { BlobCount, Collected, GcOptions, GcProgress } from './core/service/gc.ts';
export type { Identity } from './core/service/identity.ts';
export type { OpenOptions } from './core/service/open-session.ts';
export type { DiffPlace, PlaceRef } from './core/service/places.ts';
export type { Audit, AuditPage } from './core/service/registry/audit.ts';
export type { Authenticated } from './core/service/registry/authenticate.ts';
export type { KeyRequest, Keys, NewKey } from './core/service/registry/keys.ts';
export type { MemberChange, Members, NewMember } from './core/service/registry/members.ts';
export type { Workspace, Workspaces } from './core/service/registry/workspaces.ts';
export type { Replay, ReplayOptions } from './core/service/replay.ts';
export type { Retry } from './core/service/retry.ts';
export type { Rewind, RewindOptions } from './core/service/rewind.ts';
export type { Run, RunResult } from './core/service/runs.ts';
export type { ScopedRuntime } from './core/service/scoped-runtime.ts';
export type { SendInput, SendOptions } from './core/service/send.ts';
export type { Session } from './core/service/session.ts';
export type { SnapshotPolicy } from './core/service/session-folds.ts';
export type { ListOptions, SessionPage, Sessions } from './core/service/sessions.ts';
export type { TranscriptEntry, TranscriptOptions } from './core/service/transcript.ts';
export type { TreeNode } from './core/service/tree.ts';
export type { Vault } from './core/service/vault/vault.ts';
export type { Verification, VerifyOptions } from './core/service/verify.ts';
export type { WaitingInput } from './core/service/waiting-inputs.ts';
export type { Dispatcher, DispatcherOptions } from './core/service/webhooks/dispatcher.ts';
export type {
  DeliveryPage,
  NewWebhook,
  WebhookChanges,
  WebhookRequest,
  Webhooks,
} from './core/service/webhooks/webhooks.ts';
export { type Agent, type AgentDefinition, defineAgent } from './core/session/agent.ts';
export type { Summarize } from './core/session/compaction.ts';
export type { Context } from './core/session/context.ts';
export type { Artifact } from './core/session/files-fold.ts';
export { defineScript, type Script } from './models/script.ts';
export { openRuntime, type Runtime, type RuntimeOptions } from './runtime.ts';
export type { Area } from './schema/areas.ts';
export type { AuditEntry } from './schema/audit-entry.ts';
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
export type { Point } from './schema/point.ts';
export type { RunFailureCode } from './schema/run-failure-catalog.ts';
export type { SecretInfo } from './schema/secret-info.ts';
export type { PatchOperation, Provenance, State } from './schema/state.ts';
export type { SessionSummary } from './schema/summary.ts';
export type { Delivery, DeliveryAttempt, Webhook, WebhookEvent, WebhookMessage } from './schema/webhook.ts';
export { defineTool, type ToolDefinition, type ToolRetry } from './tools/define-tool.ts';
