import { z } from 'zod';
import { bounded, listOf } from './bounded.ts';
import { Damage } from './damage.ts';
import { Description } from './description.ts';
import { PerdureError } from './error.ts';
import { HolderRole } from './handoff.ts';
import { EarlierCall, HappenedCalls } from './happened.ts';
import { Actor, ApprovalId, MemberId, MessageId, RunId, SessionId, type WorkspaceId } from './ids.ts';
import { Json, Text } from './json.ts';
import { Status } from './lifecycle.ts';
import { Requester } from './member.ts';
import { BrokenContent, brokenOffReasons, Effects, Message, ResultSource, ToolOutcome } from './message.ts';
import { isPlainMessage } from './plain-message.ts';
import { Caller, Limits, modelFailures, Usage, waitReasons } from './run.ts';
import { CallSaid, SaidRef } from './said.ts';
import { Ownership, Sharing } from './sharing.ts';
import { Pointer, Provenance, StoredOperation } from './state.ts';
import { Taint, TaintedFiles } from './taint.ts';

/** `payload` is the schema of the newest version. `upcast[n - 1]` converts a payload from version n to n + 1. */
export interface EventDefinition<Payload = unknown> {
  readonly payload: z.ZodType<Payload>;
  readonly upcast: readonly ((older: unknown) => unknown)[];
  /** A fast check of a payload. If it returns true, the schema would accept the payload unchanged. */
  readonly isPlain?: (payload: unknown) => boolean;
}

const event = <Schema extends z.ZodType>(
  payload: Schema,
  ...upcast: readonly ((older: unknown) => unknown)[]
): { payload: Schema; upcast: typeof upcast } => ({ payload, upcast });

const maxInt32 = 2 ** 31 - 1;
const Seq = z.int().positive();
const Turn = z.int().nonnegative().max(maxInt32);
/** One line of text that is a valid file name on every system. */
export const ArtifactName = Text.regex(/^[\p{L}\p{N}][\p{L}\p{N} ._()@+,=-]{0,199}$/u, {
  error: 'expected a letter or digit, then letters, digits, spaces or . _ - ( ) @ + , =, 200 at most',
});
const Reason = Text.max(2000).optional();
const FirstWords = Text.max(200).optional();
const Hash = z.string().regex(/^[0-9a-f]{64}$/);
/** The origin of a commit that is not an ordinary change. */
const CommitOrigin = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('revert'), seq: Seq }),
  z.strictObject({ kind: z.literal('lift'), paths: listOf(Pointer, { min: 1 }) }),
  z.strictObject({ kind: z.literal('adopt'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('carry'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('migrate'), from: z.int().positive(), to: z.int().positive() }),
  /** Extracted by a compaction, from the events that its summary covers. */
  z.strictObject({ kind: z.literal('compact'), from: Seq, to: Seq }),
]);
const ErrorRecord = z.strictObject({ name: Text.max(200), message: Text });
const CallRef = { callId: Text.max(200), tool: Text.max(200) };
const Cause = z.strictObject({ tool: Text.max(200), callId: Text.max(200) });
/** The actor whose input the run answers. Absent in events of release 0.1. */
const RequestedBy = Actor.optional();
/** The model and the agent of a request, and the actor whose input it answers. */
/** Members other than the actor whose words, files or edits this event brings into the session. */
const Contributors = listOf(Actor).optional();
const UsedBy = z.strictObject({ model: Text.max(200), agent: Actor, requestedBy: Actor });
const DurationMs = z.number().nonnegative();
const Count = z.int().nonnegative();
const leftOutReasons = ['ignored', 'too-big', 'unreadable', 'special', 'secret'] as const;
const LeftOut = z.strictObject({ count: Count, paths: listOf(Text) });
/** The origin of files that neither a tool call nor a person changed. */
const FilesOrigin = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('folder'), path: Text }),
  z.strictObject({ kind: z.literal('git'), repository: Text, commit: Text.max(100) }),
  z.strictObject({ kind: z.literal('session'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('restore'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('adopt'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('revert'), seq: Seq }),
]);
const isPlainName = (value: unknown): boolean => typeof value === 'string' && /^[\w./:@+-]{1,200}$/.test(value);
const isPlainAppended = (payload: unknown): boolean =>
  typeof payload === 'object' &&
  payload !== null &&
  'message' in payload &&
  Object.entries(payload).every(([field, value]) => field === 'message' || (field === 'model' && isPlainName(value))) &&
  isPlainMessage(payload.message);
/** How many steps of the plan are done, and how many there are, without dropped ones. */
const PlanProgress = z.strictObject({ done: Count, total: Count });
/** The tools whose results taint the session, the first of them. */
const TaintedBy = listOf(Text.max(200)).optional();
/** Set if the data comes from outside: it taints every context that holds it. */
const Untrusted = z.literal(true).optional();
const AgentRef = z.strictObject({ name: Text.min(1).max(100), version: z.int().positive() });
/** The worker that works on a run from here on, its machine, and the agent's version that it uses. */
const WorkedBy = { worker: Text.max(200).optional(), machine: Text.max(300).optional(), agent: AgentRef.optional() };

/** Version 1 of `approval.settled` calls the comment `reason`. */
const commentFromReason = (older: unknown): unknown => {
  const { reason, ...others } = (older ?? {}) as Record<string, unknown>;
  return reason === undefined ? others : { ...others, comment: reason };
};

export const eventDefinitions = {
  'session.opened': event(
    z.strictObject({
      ...Description.shape,
      /** The owner is absent if it is the member that opened the session. */
      ...Ownership.shape,
      agent: AgentRef.optional(),
      /** The tool call that opened this session for a subagent. */
      calledBy: Caller.optional(),
    }),
  ),
  /**
   * The first event of a fork. It repeats the parent's summary at that point, so that a listing never reads the
   * parent.
   */
  'session.forked': event(
    z.strictObject({
      parent: SessionId,
      at: Seq,
      midTurn: z.boolean(),
      /** The highest turn number used up to that point. Turn numbers are never reused. */
      lastTurn: Turn,
      ...Description.shape,
      /** Those of the parent when the fork was made. Absent in events of release 0.1. */
      ...Ownership.shape,
      agent: AgentRef.optional(),
      messages: z.int().nonnegative(),
      firstWords: FirstWords,
      plan: PlanProgress.optional(),
      tainted: TaintedBy,
      /** Set if the fork continues a damaged session: the damage, and what is lost because of it. */
      lost: Damage.optional(),
    }),
  ),
  'session.described': event(Description),
  'session.shared': event(Sharing),
  'session.pausing': event(z.strictObject({ reason: Reason })),
  'session.paused': event(z.strictObject({ reason: Reason })),
  'session.resumed': event(z.strictObject({})),
  'session.closed': event(z.strictObject({ reason: Reason })),
  'session.reopened': event(z.strictObject({})),
  'session.archived': event(z.strictObject({})),
  'session.restored': event(z.strictObject({})),
  /**
   * Like the first event of a fork, this event repeats the summary at its point, here the point that the session goes
   * back to.
   */
  'session.rewound': event(
    z.strictObject({
      to: Seq,
      reason: Reason,
      messages: z.int().nonnegative(),
      agent: AgentRef.nullable().optional(),
      firstWords: FirstWords,
      plan: PlanProgress.optional(),
      tainted: TaintedBy,
    }),
  ),
  /**
   * The log is damaged at `seq`. The live lineage ends at the last event before it, and the session accepts no more
   * work. Like a rewind, the event repeats the summary at that point.
   */
  'session.quarantined': event(
    z.strictObject({
      seq: Seq,
      reason: Text.max(1000),
      status: Status,
      lastTurn: Turn,
      messages: z.int().nonnegative(),
      agent: AgentRef.nullable(),
    }),
  ),
  'message.appended': {
    ...event(
      z.strictObject({
        message: Message,
        /** The turn that this message retries. */
        retries: z.int().positive().optional(),
        /** Set on the report to the model about a handoff: the seq of the `session.handed` that began it. */
        handoff: Seq.optional(),
        /** The model that wrote the message, as `provider/model`. Present when a run wrote it. */
        model: Text.max(200).optional(),
        /** The key that recalls the whole result, if the message has only its beginning and its end. */
        cut: Text.max(300).optional(),
        contributors: Contributors,
      }),
    ),
    isPlain: isPlainAppended,
  },
  'agent.bound': event(
    z.strictObject({
      agent: AgentRef,
      schemaHash: Hash,
      /** A digest of each part of the agent, to detect a later change. */
      digests: bounded(z.record(Text.max(300), z.string().regex(/^[0-9a-f]{16}$/))).optional(),
    }),
  ),
  'state.committed': event(
    z.strictObject({
      delta: listOf(StoredOperation),
      /** The delta that undoes this commit. */
      inverse: listOf(StoredOperation),
      /** Absent if the commit changes only bookkeeping, such as counters. */
      provenance: Provenance.optional(),
      /**
       * The provenance of single entries where it differs. The commit's own provenance is the lowest one among its
       * entries.
       */
      entryProvenance: bounded(z.record(Pointer, Provenance)).optional(),
      /** The tool call that caused this change. Absent when the actor changed the state directly. */
      cause: Cause.optional(),
      /** The message that asked for that call. Absent if it was appended after this event. */
      said: SaidRef.optional(),
      inputHash: Hash.optional(),
      outputSummary: Text.max(2000).optional(),
      /** The events that this change was derived from. */
      derivedFrom: listOf(Seq).optional(),
      why: Reason,
      origin: CommitOrigin.optional(),
      /** The progress of the plan after this commit. Present when the commit changed the plan. */
      plan: PlanProgress.optional(),
      contributors: Contributors,
    }),
  ),
  'tool.called': event(
    z.strictObject({
      ...CallRef,
      input: Json,
      inputHash: Hash,
      /** Set if the tool does not run: the call is refused, or a person answers it. Its end is in the same append. */
      ran: z.literal(false).optional(),
      /** What running the call twice would do. Absent if it is not declared, which means `once`. */
      effects: Effects.optional(),
      /** Set if all effects of the call are in the session's own files and state, so that going back undoes them. */
      confined: z.literal(true).optional(),
      /** Whether the loop can find out later if the call took effect. */
      reconciles: z.literal(true).optional(),
      /** The message that asked for the call. Absent if it was appended after this event. */
      said: CallSaid.optional(),
      untrusted: Untrusted,
    }),
  ),
  /** A loop outside Perdure claims the session, so that earlier loops and runs can begin no further call. */
  'session.tracked': event(
    z.strictObject({
      /** The process of the loop. Absent if the loop works over a server, which cannot see whether it is alive. */
      holder: z
        .strictObject({ machine: Text.max(300), process: z.int().positive(), processStart: Text.max(300) })
        .optional(),
    }),
  ),
  /** A loop outside Perdure reports a call that it made and its result, in messages that it appends. */
  'call.reported': event(
    z.strictObject({
      ...CallRef,
      inputHash: Hash,
      outcome: ToolOutcome,
      outputHash: Hash.optional(),
      /** The message that asked for the call. */
      said: SaidRef.optional(),
    }),
  ),
  /** The next attempt of a call, after a crash or after a failure that the tool declares retryable. */
  'tool.retried': event(z.strictObject({ ...CallRef, attempt: z.int().min(2), reason: Reason })),
  'tool.completed': event(
    z.strictObject({
      ...CallRef,
      output: Json,
      outputHash: Hash,
      durationMs: DurationMs,
      /** Whether the tool is declared trusted, so that its output has the provenance `verified`. */
      trusted: z.boolean(),
      /** A value that the tool receives at its next call in this session, such as its working folder. */
      keeps: Json.optional(),
      source: ResultSource.optional(),
      untrusted: Untrusted,
    }),
  ),
  'tool.failed': event(
    z.strictObject({
      ...CallRef,
      outcome: ToolOutcome.exclude(['ok']),
      error: ErrorRecord,
      durationMs: DurationMs,
      source: ResultSource.optional(),
      untrusted: Untrusted,
    }),
  ),
  /**
   * The calls with effects that a rewind, a retry, a fork or an adoption left beside the live lineage, and that were
   * not undone. It replaces the list before it.
   */
  'calls.happened': event(
    z.strictObject({ verb: z.enum(['rewind', 'retry', 'fork', 'adopt']), ...HappenedCalls.shape }),
  ),
  /** A compaction is an overlay: the events stay in the log, and contexts show the summary instead of them. */
  'context.compacted': event(
    z.strictObject({
      from: Seq,
      to: Seq,
      summary: Text,
      /** The keys of evicted content, which `recall` can read. Older events have keys of calls such as `call:ID`. */
      evicted: listOf(Text.max(300)),
      /** How many different keys the evicted calls have, including those that `evicted` does not list. */
      calls: z.int().nonnegative().optional(),
      summarizer: Text.max(200),
    }),
  ),
  /** An input together with the run that will answer it. The message joins the transcript when the run begins. */
  'input.admitted': event(
    z.strictObject({
      run: RunId,
      message: Message,
      policy: z.enum(['queue', 'steer', 'interrupt']),
      /** The earliest time at which the input's run may begin. */
      notBefore: z.int().positive().optional(),
      from: Requester.optional(),
      /** The turn that this input retries. */
      retries: z.int().positive().optional(),
      contributors: Contributors,
    }),
  ),
  /** A worker starts the run, for the first time or after the previous worker crashed. */
  'run.started': event(z.strictObject({ attempt: z.int().positive(), ...WorkedBy })),
  /** A worker continues the run after a wait or a pause. */
  'run.resumed': event(z.strictObject(WorkedBy)),
  'run.waiting': event(
    z.strictObject({
      for: z.enum(waitReasons),
      reason: Reason,
      /** The time at which the run continues by itself. */
      until: z.int().positive().optional(),
      /** The child session in which a subagent waits. Present when the run waits for that subagent. */
      session: SessionId.optional(),
    }),
  ),
  'run.ended': event(
    z.discriminatedUnion('status', [
      z.strictObject({ status: z.literal('succeeded'), output: Json }),
      z.strictObject({
        status: z.literal('failed'),
        error: z.strictObject({ code: Text.max(100), message: Text }),
      }),
      z.strictObject({ status: z.literal('cancelled') }),
    ]),
  ),
  /** This event is durable before the request is sent to the model. */
  'model.called': event(
    z.strictObject({
      model: Text.max(200),
      attempt: z.int().positive(),
      /** The message id reserved for the answer. */
      message: MessageId,
      settings: Json,
      tools: listOf(Text.max(200)),
      instructionsHash: Hash,
      /**
       * An estimate of the request's size. `reservedTokens` adds the maximum size of the answer and is reserved from
       * the budget.
       */
      requestTokens: z.int().nonnegative(),
      reservedTokens: z.int().nonnegative(),
      /** What `reservedTokens` cost at most. Absent when the price is not known. Quotas count it until the outcome. */
      reservedUsd: z.number().nonnegative().optional(),
      requestedBy: RequestedBy,
      /** The estimate before it was corrected by what the provider reported for earlier requests. */
      estimatedTokens: z.int().nonnegative().optional(),
      /** The maximum length of the answer, if the budget left less than `settings` allow. */
      budgetedOutputTokens: z.int().positive().optional(),
    }),
  ),
  'model.completed': event(
    z.strictObject({
      model: Text.max(200),
      finish: Text.max(50),
      usage: Usage,
      durationMs: DurationMs,
      requestedBy: RequestedBy,
    }),
  ),
  'model.failed': event(
    z.strictObject({
      model: Text.max(200),
      attempt: z.int().positive(),
      failure: z.enum(modelFailures),
      message: Text,
      /** The delay before the next attempt. Absent when the run does not retry. */
      retryInMs: z.int().nonnegative().optional(),
      /** The delay that the provider requested. */
      retryAfterMs: z.int().nonnegative().optional(),
      /** The model that the run asks instead. */
      next: Text.max(200).optional(),
      /** The usage of the failed request. Present when the provider reported it. */
      usage: Usage.optional(),
      requestedBy: RequestedBy,
    }),
  ),
  /**
   * What was shown of an answer since the previous such event. Outside the transcript: it no longer counts once the
   * answer is complete.
   */
  'message.progressed': event(
    z.strictObject({
      message: MessageId,
      pieces: listOf(
        z.strictObject({
          type: z.enum(['reasoning', 'text']),
          /** The number of characters of this type in the answer before this piece. */
          offset: Count,
          text: Text,
        }),
      ),
      /** An estimate for the request and the answer so far. It is charged if the answer breaks off. */
      usage: Usage,
      usedBy: UsedBy.optional(),
    }),
  ),
  /** An answer broke off. Clients must remove its preview; the transcript shows `content` as a broken-off answer. */
  'message.abandoned': event(
    z.strictObject({
      message: MessageId,
      content: BrokenContent.optional(),
      /** How many characters `content` leaves out at its end. */
      omittedChars: Count.optional(),
      why: z.enum(brokenOffReasons).optional(),
      /** Set if an earlier event has the beginning: this is what its worker had shown after that. */
      isRest: z.literal(true).optional(),
      /** An estimate, because the provider reported no usage. */
      usage: Usage.optional(),
      /** Set with `usage`. */
      usedBy: UsedBy.optional(),
    }),
  ),
  'approval.requested': event(
    z.strictObject({
      approval: ApprovalId,
      ...CallRef,
      inputHash: Hash,
      /** Describes the call to the person who decides. */
      summary: Text.max(2000),
      requestedBy: Actor,
      /** The earlier call that this one would repeat. */
      repeats: EarlierCall.optional(),
      /** The tree in which the agent's `prepare` command would run without a sandbox, before the call. */
      prepares: Hash.optional(),
      /** What brought data from outside into the context that the call was asked for in. */
      taintedBy: Taint.optional(),
      roles: listOf(Text.max(50)).optional(),
      notRequester: z.boolean().optional(),
      expiresAt: z.int().positive().optional(),
    }),
  ),
  'approval.settled': event(
    z.strictObject({
      approval: ApprovalId,
      /** `imported` if the answer was given in another store. It allows nothing here. */
      answer: z.enum(['approved', 'denied', 'expired', 'voided', 'imported']),
      comment: Reason,
      /** Set if the tool may also run later in this session, while the taint comes from the named sources alone. */
      forSource: z.literal(true).optional(),
    }),
    commentFromReason,
  ),
  'question.asked': event(
    z.strictObject({ ...CallRef, question: Text.max(10_000), options: listOf(Text.max(500)).optional() }),
  ),
  'question.answered': event(z.strictObject({ callId: Text.max(200), answer: Text.max(100_000) })),
  /** A subagent starts to work for a call of this session, in a separate child session. */
  'child.opened': event(z.strictObject({ callId: Text.max(200), session: SessionId })),
  /** The child session waits or is paused. The call that it works for waits too. */
  'child.waiting': event(
    z.strictObject({ callId: Text.max(200), session: SessionId, for: z.enum(waitReasons), reason: Reason }),
  ),
  'child.resumed': event(z.strictObject({ callId: Text.max(200), session: SessionId })),
  /** The child session has ended. Its usage is also charged to this session's budget. */
  'child.ended': event(
    z.strictObject({ callId: Text.max(200), session: SessionId, usage: Usage, contributors: Contributors }),
  ),
  /** From this event on, the session's files are this tree. The commit in the same append lists the changes. */
  'files.snapshotted': event(
    z.strictObject({
      tree: Hash,
      /** How many files changed since the previous snapshot. */
      changed: z.strictObject({ created: Count, modified: Count, deleted: Count, renamed: Count }),
      /** The files that the snapshot leaves out, by reason. */
      leftOut: bounded(z.partialRecord(z.enum(leftOutReasons), LeftOut)),
      cause: Cause.optional(),
      origin: FilesOrigin.optional(),
      contributors: Contributors,
    }),
  ),
  /** Changes that lost a conflict, so they are not in the session's files. `tree` holds these changes. */
  'files.conflicted': event(z.strictObject({ tree: Hash, paths: listOf(Text), conflicts: Count })),
  /** The session works in a person's own folder, in place. */
  'files.bound': event(z.strictObject({ path: Text, machine: Text.max(300) })),
  /** The agent's `prepare` command recreated files that snapshots leave out, such as installed packages. */
  'files.prepared': event(
    z.strictObject({ command: Text, exitCode: z.int().nullable(), output: Text, durationMs: DurationMs }),
  ),
  /** A file or value that was stored by name for people. */
  'artifact.kept': event(
    z.strictObject({
      name: ArtifactName,
      mediaType: Text.max(200),
      size: Count,
      blob: Hash,
      path: Text.optional(),
      contributors: Contributors,
    }),
  ),
  /** Data that is tainted in another session comes into this one. */
  'taint.inherited': event(
    z.strictObject({
      via: z.enum(['caller', 'carry', 'subagent', 'adopt', 'restore']),
      from: SessionId,
      ...Taint.shape,
      files: TaintedFiles.optional(),
      /** The call whose subagent brings it. */
      callId: Text.max(200).optional(),
    }),
  ),
  /** An approver vouches for what the context holds. Files stay tainted, unless `files` is set. */
  'taint.cleared': event(z.strictObject({ reason: Text.min(1).max(2000), files: z.literal(true).optional() })),
  'budget.set': event(z.strictObject({ limits: Limits, reason: Reason })),
  /** A cancel of the run that the header names. It has no effect if that run has ended before. */
  'cancel.requested': event(z.strictObject({})),
  /** A quota that the run waits for was changed. The run asks again whether there is room. */
  'quota.changed': event(z.strictObject({})),
  'session.handed': event(
    z.strictObject({
      to: z.enum(['agent', 'human']),
      /** The member, or the least role of the members, who may act as the holder. Without both, any person may. */
      member: MemberId.optional(),
      role: HolderRole.optional(),
      reason: Reason,
      /** The call by which the agent handed the session over. It gets its result when the session is handed back. */
      callId: Text.max(200).optional(),
      /** Set in the fork of a replay, which only keeps workers away. No person is asked for anything. */
      replay: z.literal(true).optional(),
    }),
  ),
} satisfies Record<string, EventDefinition>;

type Definitions = typeof eventDefinitions;
export type EventType = keyof Definitions;
export type PayloadOf<T extends EventType> = z.infer<Definitions[T]['payload']>;

export interface EventHeader {
  readonly session: SessionId;
  readonly seq: number;
  /** Milliseconds since 1970. Never less than the time of the previous event. */
  readonly at: number;
  readonly turn: number;
  readonly run?: RunId | undefined;
  readonly type: string;
  readonly version: number;
  readonly actor: Actor;
}

/** One event of the log as readers see it: with a typed payload, converted to the newest version of its type. */
export type SessionEvent<T extends EventType = EventType> = {
  [Type in T]: Omit<EventHeader, 'type'> & {
    readonly workspace: WorkspaceId;
    readonly type: Type;
    readonly payload: PayloadOf<Type>;
    readonly hash: string;
    /** Set if the event came from a bundle. Its approvals and its provenance do not count here. */
    readonly imported?: true | undefined;
  };
}[T];

/** An event before the store assigns its seq, time and hash. A `turn` of `next` opens a turn. */
export type EventDraft<T extends EventType = EventType> = {
  [Type in T]: {
    readonly type: Type;
    readonly payload: PayloadOf<Type>;
    readonly actor: Actor;
    readonly run?: RunId | undefined;
    readonly turn: number | 'current' | 'next';
    /** The payload as it will be stored, if it is already validated and encoded. */
    readonly encoded?: Uint8Array | undefined;
  };
}[T];

export const isEventType = (type: string): type is EventType => Object.hasOwn(eventDefinitions, type);
export const currentVersion = (type: EventType): number => eventDefinitions[type].upcast.length + 1;
/** The last millisecond of the year 9999. */
const lastMoment = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const eventHeader = z.strictObject({
  session: SessionId,
  seq: Seq,
  at: z.int().nonnegative().max(lastMoment),
  turn: Turn,
  run: RunId.optional(),
  type: z
    .string()
    .max(100)
    .regex(/^[a-z]+(\.[a-z_]+)+$/),
  version: z.int().positive().max(maxInt32),
  actor: Actor,
});

/**
 * Converts a stored payload of any earlier version to the newest version. The definition is a parameter, so that tests
 * can pass their own.
 */
export const upcastPayload = (
  definition: EventDefinition,
  type: string,
  version: number,
  payload: unknown,
): unknown => {
  const newest = definition.upcast.length + 1;
  if (version > newest) {
    throw new PerdureError(
      'EVENT_UNSUPPORTED',
      `${type} is stored in version ${version}; this release reads up to ${newest}: upgrade perdure`,
      { details: { type, version, newest } },
    );
  }
  if (version === newest && definition.isPlain?.(payload)) return payload;
  return definition.payload.parse(definition.upcast.slice(version - 1).reduce((older, lift) => lift(older), payload));
};
