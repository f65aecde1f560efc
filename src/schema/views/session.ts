import { z } from 'zod';
import { eventDefinitions } from '../event.ts';
import { ShownHandoff } from '../handoff.ts';
import { EarlierCall, HappenedCalls } from '../happened.ts';
import { Actor, ApprovalId, RunId, SessionId } from '../ids.ts';
import { Json } from '../json.ts';
import { brokenOffReasons, Effects, Message, ResultSource, toolOutcomes } from '../message.ts';
import { Usage, waitReasons } from '../run.ts';
import { RunRecord } from '../run-record.ts';
import { type Collection, collections, ledgerEntries, StoredOperation } from '../state.ts';
import { SessionSummary } from '../summary.ts';

const Seq = z.int().nonnegative();
const record = <S extends z.ZodType>(entry: S) => z.record(z.string(), entry);

export const SummaryView = SessionSummary.meta({ id: 'Session' });
export const SessionPageView = z.strictObject({ sessions: z.array(SummaryView), cursor: z.string().optional() });

const ledger = Object.fromEntries(collections.map((each) => [each, record(ledgerEntries[each])])) as {
  [C in Collection]: z.ZodRecord<z.ZodString, (typeof ledgerEntries)[C]>;
};
export const StateView = z.strictObject({ ...ledger, own: record(Json) }).meta({ id: 'State' });

export const TranscriptView = z.strictObject({
  entries: z.array(
    z.strictObject({
      seq: Seq,
      turn: Seq,
      at: z.int(),
      actor: Actor,
      run: RunId.optional(),
      model: z.string().optional(),
      message: Message,
      brokenOff: z.enum(brokenOffReasons).optional(),
      omittedChars: z.int().positive().optional(),
    }),
  ),
});

export const ContextView = z.strictObject({
  system: z.string(),
  messages: z.array(Message),
  from: Seq,
  tokens: z.number(),
});

export const CommitView = eventDefinitions['state.committed'].payload
  .extend({
    session: SessionId,
    seq: Seq,
    turn: Seq,
    at: z.int(),
    actor: Actor,
    entries: z.array(z.string()),
  })
  .meta({ id: 'Commit' });
export const CommitsView = z.strictObject({ commits: z.array(CommitView) });
/** A commit, absent when nothing changed. */
export const MaybeCommitView = z.strictObject({ commit: CommitView.optional() });

export const CallView = z
  .strictObject({
    session: SessionId,
    callId: z.string(),
    tool: z.string(),
    status: z.enum(['running', ...toolOutcomes]),
    run: RunId.optional(),
    turn: Seq,
    seq: Seq,
    at: z.int(),
    actor: Actor,
    endedSeq: Seq.optional(),
    durationMs: z.number().optional(),
    inputHash: z.string(),
    outputHash: z.string().optional(),
    source: ResultSource.optional(),
    input: Json.optional(),
    output: Json.optional(),
    error: z.strictObject({ name: z.string(), message: z.string() }).optional(),
    clipped: z.array(z.enum(['input', 'output', 'error'])).optional(),
    effects: Effects.optional(),
    confined: z.literal(true).optional(),
  })
  .meta({ id: 'ToolCall' });
export const CallsView = z.strictObject({ calls: z.array(CallView) });

const PlaceRef = z.strictObject({ session: SessionId, seq: Seq });
const changesOf = <S extends z.ZodType>(entry: S) =>
  z.array(z.strictObject({ id: z.string(), before: entry.optional(), after: entry.optional() }));
const changes = Object.fromEntries(collections.map((each) => [each, changesOf(ledgerEntries[each])])) as unknown as {
  [C in Collection]: z.ZodArray<
    z.ZodObject<{
      id: z.ZodString;
      before: z.ZodOptional<(typeof ledgerEntries)[C]>;
      after: z.ZodOptional<(typeof ledgerEntries)[C]>;
    }>
  >;
};
const EntryCommitView = CommitView.pick({
  session: true,
  seq: true,
  turn: true,
  at: true,
  actor: true,
  cause: true,
  why: true,
});
export const DiffView = z.strictObject({
  from: PlaceRef,
  to: PlaceRef,
  commits: record(z.strictObject({ before: EntryCommitView.optional(), after: EntryCommitView.optional() })),
  ...changes,
  own: changesOf(Json),
  patch: z.array(StoredOperation),
});

export interface Node {
  readonly summary: z.infer<typeof SessionSummary>;
  readonly forks: readonly Node[];
}
export const TreeView: z.ZodType<Node> = z
  .strictObject({
    summary: SummaryView,
    get forks() {
      return z.array(TreeView);
    },
  })
  .meta({ id: 'Tree' }) as z.ZodType<Node>;

export const VerificationView = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), events: Seq, hash: z.string() }),
  z.strictObject({
    ok: z.literal(false),
    events: Seq,
    bad: z.strictObject({ seq: Seq, reason: z.string(), path: z.string().optional(), blob: z.string().optional() }),
  }),
]);

export const RunPageView = z.strictObject({ runs: z.array(RunRecord), cursor: z.string().optional() });
export const WorkspaceRunPageView = RunPageView.extend({ damaged: z.array(SessionId) });

export const RunView = z.strictObject({ run: RunId, session: SessionId }).meta({ id: 'Run' });

const ofRun = { run: RunId, usage: Usage };
/** A run that is in progress, or that is queued. */
const RunningView = z
  .strictObject({
    ...ofRun,
    status: z.literal('running'),
    waitingFor: z.literal('model').optional(),
    reason: z.string().optional(),
    until: z.int().optional(),
  })
  .meta({ id: 'RunUnderWay' });
const WaitingView = z
  .strictObject({
    ...ofRun,
    status: z.literal('waiting'),
    waitingFor: z.enum(waitReasons).exclude(['model']),
    reason: z.string().optional(),
    waitsIn: SessionId.optional(),
  })
  .meta({ id: 'WaitingRun' });
const PausedView = z.strictObject({ ...ofRun, status: z.literal('paused') }).meta({ id: 'PausedRun' });
const SucceededView = z
  .strictObject({ ...ofRun, status: z.literal('succeeded'), output: Json })
  .meta({ id: 'SucceededRun' });
const FailedView = z
  .strictObject({
    ...ofRun,
    status: z.literal('failed'),
    error: z.strictObject({ code: z.string(), message: z.string() }),
  })
  .meta({ id: 'FailedRun' });
const CancelledView = z.strictObject({ ...ofRun, status: z.literal('cancelled') }).meta({ id: 'CancelledRun' });
const runViews = [RunningView, WaitingView, PausedView, SucceededView, FailedView, CancelledView] as const;
const component = (view: (typeof runViews)[number]) => `#/components/schemas/${view.meta()?.id}`;
export const RunResultView = z.discriminatedUnion('status', runViews).meta({
  id: 'RunResult',
  discriminator: {
    propertyName: 'status',
    mapping: Object.fromEntries(runViews.map((view) => [view.shape.status.value, component(view)])),
  },
});

export const ChangedFileView = z.strictObject({
  path: z.string(),
  change: z.enum(['created', 'modified', 'deleted', 'renamed']),
  from: z.string().optional(),
});
/** The result of a revert. Empty when nothing changed. */
export const ReversalView = z.strictObject({
  commit: CommitView.optional(),
  files: z.array(ChangedFileView).optional(),
});
export const AdoptionView = z.strictObject({
  commit: CommitView.optional(),
  adopted: z.array(z.string()),
  conflicts: z.array(
    z.strictObject({ path: z.string(), base: Json.optional(), ours: Json.optional(), theirs: Json.optional() }),
  ),
  files: z.strictObject({ changes: z.array(ChangedFileView), conflicts: z.array(z.string()) }),
  happened: HappenedCalls,
});

export const InputsView = z.strictObject({
  inputs: z.array(
    z.strictObject({
      run: RunId,
      seq: Seq,
      by: Actor,
      policy: eventDefinitions['input.admitted'].payload.shape.policy,
      notBefore: z.int().optional(),
    }),
  ),
});

const cancelledRuns = z.array(RunId);
export const RewindView = SummaryView.extend({ cancelled: cancelledRuns, happened: HappenedCalls }).meta({
  id: 'Rewind',
  description:
    'The session as it goes on, the runs of inputs that waited in it and were cancelled, and the calls with effects beyond the point.',
});
export const ForkView = SummaryView.extend({ happened: HappenedCalls }).meta({
  id: 'Branch',
  description: 'The new session, and the calls with effects beyond its point.',
});
export const RetryView = z.strictObject({
  message: Message,
  turn: Seq.optional(),
  run: RunId.optional(),
  cancelled: cancelledRuns,
  happened: HappenedCalls,
});

export const ReplayView = z.strictObject({
  session: SessionId,
  departures: z.array(
    z.strictObject({
      step: Seq,
      what: z.enum(['request', 'call', 'outcome', 'end']),
      recorded: Json,
      replayed: Json,
    }),
  ),
  upTo: z.enum(['cancelled', 'under-way']).optional(),
});

export const CompactionView = z.strictObject({
  compaction: z.strictObject({ from: Seq, to: Seq, summary: z.string(), evicted: z.array(z.string()) }).optional(),
});

export const RecallView = z.strictObject({ key: z.string(), value: z.unknown() });

export const ApprovalView = z
  .strictObject({
    id: ApprovalId,
    session: SessionId,
    callId: z.string(),
    tool: z.string(),
    inputHash: z.string(),
    summary: z.string(),
    requestedBy: Actor,
    requestedAt: z.int(),
    repeats: EarlierCall.optional(),
    roles: z.array(z.string()).optional(),
    notRequester: z.boolean().optional(),
    expiresAt: z.int().optional(),
  })
  .meta({ id: 'Approval' });
export const ApprovalsView = z.strictObject({
  approvals: z.array(ApprovalView),
  handoffs: z.array(ShownHandoff.extend({ session: SessionId }).meta({ id: 'HeldSession' })),
});

export const AgentsView = z.strictObject({
  agents: z.array(
    z.strictObject({
      name: z.string(),
      version: z.int(),
      model: z.string().optional(),
      models: z.array(z.strictObject({ name: z.string(), problem: z.string().optional() })),
      tools: z.array(
        z.strictObject({ name: z.string(), description: z.string(), effects: z.enum(['none', 'idempotent', 'once']) }),
      ),
    }),
  ),
});

export const ImportedView = z.strictObject({
  sessions: z.array(z.strictObject({ session: SessionId, added: Seq })),
});
