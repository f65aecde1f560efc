import { z } from 'zod';
import { bounded, listOf } from './bounded.ts';
import { Description } from './description.ts';
import { PerdureError } from './error.ts';
import { Actor, ApprovalId, MessageId, RunId, SessionId, type WorkspaceId } from './ids.ts';
import { Json, Text } from './json.ts';
import { Requester } from './member.ts';
import { Message, ToolOutcome } from './message.ts';
import { isPlainMessage } from './plain-message.ts';
import { Caller, Limits, modelFailures, Usage, waitReasons } from './run.ts';
import { Pointer, Provenance, StoredOperation } from './state.ts';

/** The upcaster from version n to n + 1 stands at index n - 1; the schema is that of the newest version. */
export interface EventDefinition<Payload = unknown> {
  readonly payload: z.ZodType<Payload>;
  readonly upcast: readonly ((older: unknown) => unknown)[];
  /** A quick yes for what the schema would surely accept as it is. */
  readonly isPlain?: (payload: unknown) => boolean;
}

const event = <Schema extends z.ZodType>(
  payload: Schema,
  ...upcast: readonly ((older: unknown) => unknown)[]
): { payload: Schema; upcast: typeof upcast } => ({ payload, upcast });

const maxInt32 = 2 ** 31 - 1;
const Seq = z.int().positive();
const Turn = z.int().nonnegative().max(maxInt32);
/** One line that can be a file's name everywhere. */
export const ArtifactName = Text.regex(/^[\p{L}\p{N}][\p{L}\p{N} ._()@+,=-]{0,199}$/u, {
  error: 'expected a letter or digit, then letters, digits, spaces or . _ - ( ) @ + , =, 200 at most',
});
const Reason = Text.max(2000).optional();
const Hash = z.string().regex(/^[0-9a-f]{64}$/);
/** What a commit is, when it is not simply a change. */
const CommitOrigin = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('revert'), seq: Seq }),
  z.strictObject({ kind: z.literal('lift'), paths: listOf(Pointer, { min: 1 }) }),
  z.strictObject({ kind: z.literal('adopt'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('carry'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('migrate'), from: z.int().positive(), to: z.int().positive() }),
]);
const ErrorRecord = z.strictObject({ name: Text.max(200), message: Text });
const CallRef = { callId: Text.max(200), tool: Text.max(200) };
const Cause = z.strictObject({ tool: Text.max(200), callId: Text.max(200) });
const DurationMs = z.number().nonnegative();
const Count = z.int().nonnegative();
const leftOutReasons = ['ignored', 'too-big', 'unreadable', 'special', 'secret'] as const;
const LeftOut = z.strictObject({ count: Count, paths: listOf(Text) });
/** Where files came from, when no call and nobody's hand made them. */
const FilesOrigin = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('folder'), path: Text }),
  z.strictObject({ kind: z.literal('git'), repository: Text, commit: Text.max(100) }),
  z.strictObject({ kind: z.literal('session'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('restore'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('adopt'), session: SessionId, seq: Seq }),
  z.strictObject({ kind: z.literal('revert'), seq: Seq }),
]);
const isPlainAppended = (payload: unknown): boolean =>
  typeof payload === 'object' &&
  payload !== null &&
  Object.keys(payload).length === 1 &&
  'message' in payload &&
  isPlainMessage(payload.message);
const AgentRef = z.strictObject({ name: Text.min(1).max(100), version: z.int().positive() });

export const eventDefinitions = {
  'session.opened': event(
    z.strictObject({
      ...Description.shape,
      agent: AgentRef.optional(),
      /** The call that it works for. */
      calledBy: Caller.optional(),
    }),
  ),
  /** First event of a fork. It repeats what a listing shows of the parent at that point, so that no parent is read to list a child. */
  'session.forked': event(
    z.strictObject({
      parent: SessionId,
      at: Seq,
      midTurn: z.boolean(),
      /** The highest turn number given up to there, so that none is given twice. */
      lastTurn: Turn,
      ...Description.shape,
      agent: AgentRef.optional(),
      messages: z.int().nonnegative(),
    }),
  ),
  'session.described': event(Description),
  'session.pausing': event(z.strictObject({ reason: Reason })),
  'session.paused': event(z.strictObject({ reason: Reason })),
  'session.resumed': event(z.strictObject({})),
  'session.closed': event(z.strictObject({ reason: Reason })),
  'session.reopened': event(z.strictObject({})),
  'session.archived': event(z.strictObject({})),
  'session.restored': event(z.strictObject({})),
  /** Like a fork, it repeats what a listing shows of the point that it goes back to. */
  'session.rewound': event(
    z.strictObject({
      to: Seq,
      reason: Reason,
      messages: z.int().nonnegative(),
      agent: AgentRef.nullable().optional(),
    }),
  ),
  'message.appended': {
    ...event(
      z.strictObject({
        message: Message,
        /** The turn that this one tries again. */
        retries: z.int().positive().optional(),
      }),
    ),
    isPlain: isPlainAppended,
  },
  'agent.bound': event(
    z.strictObject({
      agent: AgentRef,
      schemaHash: Hash,
      /** Of each part of the agent as it was, by which a later change is found. */
      digests: bounded(z.record(Text.max(300), z.string().regex(/^[0-9a-f]{16}$/))).optional(),
    }),
  ),
  'state.committed': event(
    z.strictObject({
      delta: listOf(StoredOperation),
      /** The delta that takes it back. */
      inverse: listOf(StoredOperation),
      provenance: Provenance,
      /** Of entries that keep or get back one of their own; the commit's is the lowest of them. */
      entryProvenance: bounded(z.record(Pointer, Provenance)).optional(),
      /** The call whose work this is; without it, the actor's own. */
      cause: Cause.optional(),
      inputHash: Hash.optional(),
      outputSummary: Text.max(2000).optional(),
      /** The events it was concluded from. */
      derivedFrom: listOf(Seq).optional(),
      why: Reason,
      origin: CommitOrigin.optional(),
    }),
  ),
  'tool.called': event(z.strictObject({ ...CallRef, input: Json, inputHash: Hash })),
  /** After a crash or a failure that the tool allows to be tried again. */
  'tool.retried': event(z.strictObject({ ...CallRef, attempt: z.int().min(2), reason: Reason })),
  'tool.completed': event(
    z.strictObject({
      ...CallRef,
      output: Json,
      outputHash: Hash,
      durationMs: DurationMs,
      /** The tool is declared trusted: what it says counts as verified. */
      trusted: z.boolean(),
      /** What the tool wants back at its next call in this session, such as a working folder. */
      keeps: Json.optional(),
    }),
  ),
  'tool.failed': event(
    z.strictObject({ ...CallRef, outcome: ToolOutcome.exclude(['ok']), error: ErrorRecord, durationMs: DurationMs }),
  ),
  /** An overlay: the events stay, a context holds the summary in their place. */
  'context.compacted': event(
    z.strictObject({
      from: Seq,
      to: Seq,
      summary: Text,
      /** What was left out and can be recalled. */
      evicted: listOf(Text.max(300)),
      /** How many calls that is, listed or not. */
      calls: z.int().nonnegative().optional(),
      summarizer: Text.max(200),
    }),
  ),
  /** An input and the run that will answer it, in one. The message joins the transcript when the run begins. */
  'input.admitted': event(
    z.strictObject({
      run: RunId,
      message: Message,
      policy: z.enum(['queue', 'steer', 'interrupt']),
      /** Its run begins no sooner. */
      notBefore: z.int().positive().optional(),
      from: Requester.optional(),
      /** The turn that this one tries again. */
      retries: z.int().positive().optional(),
    }),
  ),
  /** A worker takes the run on: the first time, or after a crash of the one before. */
  'run.started': event(z.strictObject({ attempt: z.int().positive() })),
  /** A worker takes it on again after a wait or a pause. */
  'run.resumed': event(z.strictObject({})),
  'run.waiting': event(
    z.strictObject({
      for: z.enum(waitReasons),
      reason: Reason,
      /** Goes on by itself then. */
      until: z.int().positive().optional(),
      /** Of a child, where it is that which waits. */
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
  /** Durable before the model is asked. */
  'model.called': event(
    z.strictObject({
      model: Text.max(200),
      attempt: z.int().positive(),
      /** The id that the answer will have. */
      message: MessageId,
      settings: Json,
      tools: listOf(Text.max(200)),
      instructionsHash: Hash,
      /** An estimate of the request; with what the answer may take it is reserved from the budget. */
      requestTokens: z.int().nonnegative(),
      reservedTokens: z.int().nonnegative(),
    }),
  ),
  'model.completed': event(
    z.strictObject({ model: Text.max(200), finish: Text.max(50), usage: Usage, durationMs: DurationMs }),
  ),
  'model.failed': event(
    z.strictObject({
      model: Text.max(200),
      attempt: z.int().positive(),
      failure: z.enum(modelFailures),
      message: Text,
      /** Absent when it is not tried again. */
      retryInMs: z.int().nonnegative().optional(),
      /** Where the provider counted what it gave. */
      usage: Usage.optional(),
    }),
  ),
  /** What was shown of a message that never came to its end. */
  'message.abandoned': event(z.strictObject({ message: MessageId })),
  'approval.requested': event(
    z.strictObject({
      approval: ApprovalId,
      ...CallRef,
      inputHash: Hash,
      /** For the person who is asked. */
      summary: Text.max(2000),
      requestedBy: Actor,
      roles: listOf(Text.max(50)).optional(),
      notRequester: z.boolean().optional(),
      expiresAt: z.int().positive().optional(),
    }),
  ),
  'approval.settled': event(
    z.strictObject({
      approval: ApprovalId,
      answer: z.enum(['approved', 'denied', 'expired', 'voided']),
      reason: Reason,
    }),
  ),
  'question.asked': event(
    z.strictObject({ ...CallRef, question: Text.max(10_000), options: listOf(Text.max(500)).optional() }),
  ),
  'question.answered': event(z.strictObject({ callId: Text.max(200), answer: Text.max(100_000) })),
  /** A session in which another agent works for a call of this one. */
  'child.opened': event(z.strictObject({ callId: Text.max(200), session: SessionId })),
  /** It waits for somebody or was paused, and with it the call that it works for. */
  'child.waiting': event(
    z.strictObject({ callId: Text.max(200), session: SessionId, for: z.enum(waitReasons), reason: Reason }),
  ),
  'child.resumed': event(z.strictObject({ callId: Text.max(200), session: SessionId })),
  /** What a child used: it counts here too. */
  'child.ended': event(z.strictObject({ callId: Text.max(200), session: SessionId, usage: Usage })),
  /** The session's files are this tree from here on. What changed is in the commit beside it. */
  'files.snapshotted': event(
    z.strictObject({
      tree: Hash,
      /** Of files that changed since the snapshot before. */
      changed: z.strictObject({ created: Count, modified: Count, deleted: Count, renamed: Count }),
      /** What no snapshot holds, and why. */
      leftOut: bounded(z.partialRecord(z.enum(leftOutReasons), LeftOut)),
      cause: Cause.optional(),
      origin: FilesOrigin.optional(),
    }),
  ),
  /** Changes that the session's files do not have, because others took their place: `tree` has them. */
  'files.conflicted': event(z.strictObject({ tree: Hash, paths: listOf(Text), conflicts: Count })),
  /** The session works in a person's own folder. */
  'files.bound': event(z.strictObject({ path: Text, machine: Text.max(300) })),
  /** What snapshots leave out was made anew. */
  'files.prepared': event(
    z.strictObject({ command: Text, exitCode: z.int().nullable(), output: Text, durationMs: DurationMs }),
  ),
  /** A file or a value that is kept by its name, for people. */
  'artifact.kept': event(
    z.strictObject({ name: ArtifactName, mediaType: Text.max(200), size: Count, blob: Hash, path: Text.optional() }),
  ),
  'budget.set': event(z.strictObject({ limits: Limits, reason: Reason })),
  'session.handed': event(z.strictObject({ to: z.enum(['agent', 'human']), reason: Reason })),
} satisfies Record<string, EventDefinition>;

type Definitions = typeof eventDefinitions;
export type EventType = keyof Definitions;
export type PayloadOf<T extends EventType> = z.infer<Definitions[T]['payload']>;

export interface EventHeader {
  readonly session: SessionId;
  readonly seq: number;
  /** Milliseconds since 1970; never less than the event before. */
  readonly at: number;
  readonly turn: number;
  readonly run?: RunId | undefined;
  readonly type: string;
  readonly version: number;
  readonly actor: Actor;
}

/** One record of the log as everyone reads it: newest version, typed payload. */
export type SessionEvent<T extends EventType = EventType> = {
  [Type in T]: Omit<EventHeader, 'type'> & {
    readonly workspace: WorkspaceId;
    readonly type: Type;
    readonly payload: PayloadOf<Type>;
    readonly hash: string;
  };
}[T];

/** What decisions produce; the store gives it its place. `next` opens a turn. */
export type EventDraft<T extends EventType = EventType> = {
  [Type in T]: {
    readonly type: Type;
    readonly payload: PayloadOf<Type>;
    readonly actor: Actor;
    readonly run?: RunId | undefined;
    readonly turn: number | 'current' | 'next';
    /** The payload as it will be stored, where it was validated and encoded before. */
    readonly encoded?: Uint8Array | undefined;
  };
}[T];

export const isEventType = (type: string): type is EventType => Object.hasOwn(eventDefinitions, type);
export const currentVersion = (type: EventType): number => eventDefinitions[type].upcast.length + 1;
/** The last moment that a date of four digits can tell. */
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

/** Lifts a stored payload of any earlier version to the newest. Pure in its definitions, so that a test can bring its own. */
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
