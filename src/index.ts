export type { Clock } from './core/ports/clock.ts';
export type { Queue } from './core/ports/queue.ts';
export type { CallRecord, CallStatus, Imported, Store } from './core/ports/store.ts';
export { type Effects, type Tool, type ToolContext, ToolFailure } from './core/ports/tool.ts';
export type { Preview } from './core/run/previews.ts';
export type { Worker, WorkerOptions } from './core/run/worker.ts';
export type { Adoption, AdoptOptions } from './core/service/adopt.ts';
export type { Approvals, PendingApproval } from './core/service/approvals.ts';
export type { Change, CommitOptions } from './core/service/commit.ts';
export type { CallFilter, CommitFilter, CommitRecord } from './core/service/commits.ts';
export type { Compaction, CompactOptions } from './core/service/compact.ts';
export type { ContextOptions } from './core/service/context.ts';
export type { DiffPlace, SessionDiff } from './core/service/diff.ts';
export type { EventsOptions } from './core/service/events.ts';
export type { ForkOptions } from './core/service/fork.ts';
export type { OpenOptions } from './core/service/open-session.ts';
export type { Replay, ReplayOptions } from './core/service/replay.ts';
export type { Retry } from './core/service/retry.ts';
export type { Run, RunResult } from './core/service/runs.ts';
export type { SendInput, SendOptions } from './core/service/send.ts';
export type { Session } from './core/service/session.ts';
export type { SnapshotPolicy } from './core/service/session-folds.ts';
export type { ListOptions, SessionPage, Sessions } from './core/service/sessions.ts';
export type { TranscriptEntry, TranscriptOptions } from './core/service/transcript.ts';
export type { TreeNode } from './core/service/tree.ts';
export type { Verification } from './core/service/verify.ts';
export { type Agent, type AgentDefinition, defineAgent } from './core/session/agent.ts';
export type { Summarize } from './core/session/compaction.ts';
export type { Context } from './core/session/context.ts';
export { defineScript, type Script } from './models/script.ts';
export { openRuntime, type Runtime, type RuntimeOptions, type ScopedRuntime } from './runtime.ts';
export { type ErrorCode, isPerdureError, PerdureError } from './schema/error.ts';
export type { EventType, PayloadOf, SessionEvent } from './schema/event.ts';
export type { Actor, CallId, MemberId, MessageId, RunId, SessionId, WorkspaceId } from './schema/ids.ts';
export type { Json, Metadata } from './schema/json.ts';
export type { Holder, Status } from './schema/lifecycle.ts';
export type { Message, MessageInput, Role, ToolOutcome } from './schema/message.ts';
export type { Point } from './schema/point.ts';
export type { PatchOperation, Provenance, State } from './schema/state.ts';
export type { SessionSummary } from './schema/summary.ts';
export {
  askTool,
  builtInTools,
  decideTool,
  defineShellTool,
  defineTool,
  editTool,
  listTool,
  planTool,
  readTool,
  recallTool,
  rememberTool,
  type ShellOptions,
  type ShellOutput,
  searchTool,
  shellTool,
  type ToolDefinition,
  writeTool,
} from './tools/index.ts';
export { subagent } from './tools/subagent.ts';
