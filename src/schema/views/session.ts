import { z } from 'zod';
import { eventDefinitions } from '../event.ts';
import { ShownHandoff } from '../handoff.ts';
import { EarlierCall, HappenedCalls } from '../happened.ts';
import { Actor, ApprovalId, MessageId, RunId, SessionId, VerificationId } from '../ids.ts';
import { Json } from '../json.ts';
import { brokenOffReasons, Effects, Message, ResultSource, toolOutcomes } from '../message.ts';
import { Point } from '../point.ts';
import { Usage, waitReasons } from '../run.ts';
import { RunRecord } from '../run-record.ts';
import { Said } from '../said.ts';
import { type Collection, collections, ledgerEntries, StoredOperation } from '../state.ts';
import { SessionSummary } from '../summary.ts';
import { Taint } from '../taint.ts';
import { Waiting } from '../waiting.ts';

const Seq = z.int().nonnegative();
const record = <S extends z.ZodType>(entry: S) => z.record(z.string(), entry);

export const SummaryView = SessionSummary.meta({ id: 'Session' });
export const SessionPageView = z.strictObject({ sessions: z.array(SummaryView), cursor: z.string().optional() });

const ledger = Object.fromEntries(collections.map((each) => [each, record(ledgerEntries[each])])) as {
  [C in Collection]: z.ZodRecord<z.ZodString, (typeof ledgerEntries)[C]>;
};
export const StateView = z.strictObject({ ...ledger, own: record(Json), waiting: Waiting }).meta({ id: 'State' });

/** The part of the state at a path, which can be any JSON. */
export const StateOrPartView = z.union([StateView, Json]);

const olderPage = {
  cursor: z
    .string()
    .optional()
    .meta({ description: 'Continues with the next page, which is older. Absent on the last page.' }),
};

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
      cut: z.string().optional(),
    }),
  ),
  ...olderPage,
});

const EvictedView = z.strictObject({ key: z.string(), name: z.string() }).meta({
  id: 'EvictedContent',
  description: 'Content that a context leaves out. `recall` takes its key and its name.',
});

export const ContextView = z.strictObject({
  system: z.string(),
  messages: z.array(Message),
  from: Seq,
  tokens: z.number(),
  evicted: z.array(EvictedView),
});

export const CommitView = eventDefinitions['state.committed'].payload
  .extend({
    session: SessionId,
    seq: Seq,
    turn: Seq,
    at: z.int(),
    actor: Actor,
    entries: z.array(z.string()),
    said: Said.optional(),
  })
  .meta({ id: 'Commit' });
export const CommitsView = z.strictObject({ commits: z.array(CommitView), ...olderPage });
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
    said: Said.optional(),
  })
  .meta({ id: 'ToolCall' });
export const CallsView = z.strictObject({ calls: z.array(CallView), ...olderPage });

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
  said: true,
  why: true,
});
const happened = { session: SessionId, seq: Seq, turn: Seq };
const SideMessageView = z
  .strictObject({
    ...happened,
    id: MessageId,
    role: z.enum(['system', 'user', 'assistant']),
    text: z.string(),
    reasoning: z.string().optional(),
    calls: z.array(z.string()).optional(),
    model: z.string().optional(),
    brokenOff: z.enum(brokenOffReasons).optional(),
  })
  .meta({ id: 'ComparedMessage' });
const SideCallView = z
  .strictObject({
    ...happened,
    callId: z.string(),
    tool: z.string(),
    outcome: z.enum(['running', ...toolOutcomes]),
    input: z.string().optional(),
    output: z.string().optional(),
    error: z.string().optional(),
    durationMs: z.number().optional(),
    endedSeq: Seq.optional(),
    said: Said.optional(),
  })
  .meta({ id: 'ComparedCall' });
const SideCommitView = EntryCommitView.extend({
  entries: z.array(z.string()),
  said: Said.optional(),
}).meta({ id: 'ComparedCommit' });
const matchOf = <S extends z.ZodType>(item: S) =>
  z.strictObject({
    match: z.enum(['same', 'changed', 'only-before', 'only-after']),
    before: item.optional(),
    after: item.optional(),
  });
const Words = z.array(z.strictObject({ text: z.string(), change: z.enum(['same', 'removed', 'added']) }));
const AnswerView = z.strictObject({ message: MessageId, seq: Seq, text: z.string() });
const ModelsView = z.array(z.strictObject({ model: z.string(), settings: Json, requests: Seq }));
const UsageFigures = z.strictObject({
  requests: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  tokens: z.int(),
  costUsd: z.number(),
  unpriced: z.int(),
  durationMs: z.number(),
});
const OutcomeView = z.strictObject({
  status: z.enum(['running', 'waiting', 'succeeded', 'failed', 'cancelled']),
  reason: z.string().optional(),
});
export const DiffView = z.strictObject({
  from: PlaceRef,
  to: PlaceRef,
  common: Seq.meta({ description: 'The newest event that both live lineages share; 0 if they share none.' }),
  same: z
    .boolean()
    .meta({ description: 'Whether no message, call, commit, file, model, usage but durations, or outcome differs.' }),
  headline: z.string().meta({ description: 'At most three lines that quote and count what differs.' }),
  answer: z
    .strictObject({ before: AnswerView.optional(), after: AnswerView.optional(), words: Words })
    .optional()
    .meta({ description: 'The last answers. Absent if both are the same.' }),
  messages: z.array(matchOf(SideMessageView).extend({ words: Words.optional() })),
  calls: z.array(matchOf(SideCallView)),
  committed: z.array(matchOf(SideCommitView)),
  files: z.array(
    z.strictObject({
      path: z.string(),
      change: z.enum(['created', 'modified', 'deleted', 'renamed', 'mode-changed']),
      from: z.string().optional(),
      before: SideCommitView.optional(),
      after: SideCommitView.optional(),
      unified: z.string().optional(),
    }),
  ),
  counts: z
    .strictObject({
      messages: Seq,
      calls: z.strictObject({ same: Seq, changed: Seq, 'only-before': Seq, 'only-after': Seq }),
      commits: Seq,
      files: Seq,
    })
    .meta({ description: 'How many items of each kind there are on all pages.' }),
  models: z.strictObject({
    before: ModelsView,
    after: ModelsView,
    settings: z.array(z.strictObject({ name: z.string(), before: Json.optional(), after: Json.optional() })),
  }),
  usage: z.strictObject({ before: UsageFigures, after: UsageFigures, difference: UsageFigures }),
  outcome: z.strictObject({ before: OutcomeView.optional(), after: OutcomeView.optional() }),
  unread: z
    .strictObject({ before: Seq, after: Seq, files: z.string().optional() })
    .meta({ description: 'Events that were not compared, and why files were not compared.' }),
  commits: record(z.strictObject({ before: EntryCommitView.optional(), after: EntryCommitView.optional() })),
  ...changes,
  own: changesOf(Json),
  patch: z.array(StoredOperation),
  cursor: z
    .string()
    .optional()
    .meta({ description: 'Continues with further messages, calls, commits and files. Absent on the last page.' }),
});

const firstOf = <S extends z.ZodType>(item: S) => z.strictObject({ first: z.array(item), more: Seq });
export const ComparisonView = z
  .strictObject({
    common: Seq.meta({ description: 'The newest seq that all branches share. 0 if they share nothing.' }),
    branches: z.array(
      z.strictObject({
        place: PlaceRef,
        title: z.string().optional(),
        answer: z.strictObject({ message: MessageId, seq: Seq, text: z.string() }).optional(),
        outcome: z
          .strictObject({
            status: z.enum(['running', 'waiting', 'succeeded', 'failed', 'cancelled']),
            reason: z.string().optional(),
          })
          .optional(),
        decisions: firstOf(
          z.strictObject({
            id: z.string(),
            change: z.enum(['added', 'changed', 'removed']),
            what: z.string(),
            why: z.string(),
            was: z.string().optional(),
          }),
        ),
        files: firstOf(
          z.strictObject({
            path: z.string(),
            change: z.enum(['created', 'deleted', 'modified', 'mode-changed', 'renamed']),
            from: z.string().optional(),
          }),
        ),
        filesProblem: z.string().optional(),
        calls: z.strictObject({ total: Seq, failed: Seq }),
        models: z.array(z.string()),
        usage: z.strictObject({
          requests: Seq,
          inputTokens: z.number(),
          outputTokens: z.number(),
          tokens: z.number(),
          costUsd: z.number(),
          unpriced: Seq,
          durationMs: z.number(),
        }),
        unread: Seq,
      }),
    ),
  })
  .meta({ id: 'Comparison' });

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

const phases = ['waiting', 'log', 'state', 'files'] as const;

/** A verification of a large session, which goes on while its client asks for it. */
export const VerificationJobView = z
  .strictObject({
    id: VerificationId,
    session: SessionId,
    status: z.enum(['running', 'done', 'failed', 'cancelled']),
    phase: z.enum(phases).meta({ description: 'What it does: read the log, fold the state, or check the files.' }),
    done: Seq.meta({ description: 'How many of the `total` events of this phase are checked.' }),
    total: Seq,
    startedAt: z.int(),
    endedAt: z.int().optional(),
    result: VerificationView.optional(),
    error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
  })
  .meta({ id: 'VerificationJob' });
export type VerificationJob = z.infer<typeof VerificationJobView>;

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
const [, , AttemptPoint] = Point.options;
export const RetryView = z.strictObject({
  message: Message,
  turn: Seq.optional(),
  run: RunId.optional(),
  attempts: z.strictObject({ previous: AttemptPoint, next: AttemptPoint }),
  cancelled: cancelledRuns,
  happened: HappenedCalls,
});
export const AttemptsView = z.strictObject({
  attempts: z.array(AttemptPoint.extend({ asTurn: Seq, isLive: z.boolean() })),
  ...olderPage,
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
  compaction: z
    .strictObject({
      from: Seq,
      to: Seq,
      summary: z.string(),
      evicted: z.array(EvictedView),
      extracted: z.array(z.string()),
      dropped: z.array(z.strictObject({ entry: z.string(), reason: z.string() })),
    })
    .optional(),
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
    prepares: z.string().optional(),
    taintedBy: Taint.optional(),
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
