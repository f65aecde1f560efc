import type { EventType, PayloadOf } from './event.ts';

/** The keys of every member of a union. `keyof` alone yields only the common keys. */
type KeysOfUnion<T> = T extends unknown ? keyof T : never;

/** Explains an event type to people who read a log. Only the documentation imports it. */
export interface EventEntry<T extends EventType> {
  readonly about: string;
  /** A fact is appended at any head. A decision names the head it was decided on. */
  readonly kind: 'fact' | 'decision';
  /** The writer that appends it: the run writer that holds or takes the epoch, an outside writer, or either. */
  readonly writer: 'run' | 'outside' | 'either';
  readonly fields: { readonly [Field in KeysOfUnion<PayloadOf<T>>]: string };
  /** A payload of the newest version. */
  readonly example: Readonly<Record<string, unknown>>;
}

const session = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';
const run = 'run_01jd3v8m9k5x7q2w4e6r8t0y1b';
const message = 'msg_01jd3v8m9k5x7q2w4e6r8t0y1c';
const approval = 'apr_01jd3v8m9k5x7q2w4e6r8t0y1d';
const call = { callId: 'toolu_017', tool: 'shell' };
const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

const callId = 'The id that the model gave the call.';
const tool = 'The name of the tool.';
const reason = 'Why, in the words of the actor.';
const firstWords = 'The beginning of the first message of a person up to that point.';
const plan = 'How many steps of the plan are done at that point, and how many there are.';
const source =
  'Where the result came from, if the tool did not return it now: `reconcile`, a `replay` or a `person`. Otherwise absent.';
const tainted = 'The tools whose results taint the session at that point.';
const untrusted = 'Set if the result comes from outside. It taints every context that holds it.';
const workedBy = {
  worker: 'The worker that works on the run from here on.',
  machine: 'The machine of the worker, as its data folder names it.',
  agent: 'The agent’s version that the worker uses.',
} as const;
const inputHash =
  "The hash of the call's input, keyed by session, so that equal inputs within one session can be recognized.";
const title = 'The title that a listing shows.';
const metadata = 'Any JSON object that the users choose, up to 16 Ki characters.';
const priority = 'Which sessions workers take first: `low`, `normal` or `high`.';
const visibility = 'Who sees the session besides its owner and `sharedWith`: the `workspace`, or nobody (`private`).';
const sharedWith = 'The members that the session is shared with by name.';
const agentRef = 'The agent by name and version.';
const durationMs = 'How long it took, in milliseconds.';
const usedBy = 'The model and the agent of the request, and the actor whose input it answers.';
const contributors = 'Other members whose words, files or edits this event brings into the session.';
const requestedBy = 'Whose input the run answers. Absent in events of release 0.1.';
const retries = 'The turn that this one retries.';
const childSession = 'The session in which the other agent works.';
const limitReason = 'Why it waits, as text for people.';

export const eventCatalog: { readonly [T in EventType]: EventEntry<T> } = {
  'session.opened': {
    about: 'The first event of a session that is not a fork.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      title,
      metadata,
      priority,
      owner: 'The member that the session belongs to. Absent if that is the member that opened it.',
      visibility,
      sharedWith,
      agent: agentRef,
      calledBy: 'The parent session and the call that this session works for, if a call opened it for a subagent.',
    },
    example: { title: 'Fix the failing test', agent: { name: 'coder', version: 1 } },
  },
  'session.forked': {
    about:
      'The first event of a fork. It repeats the parent’s summary at that point, so that a listing never reads the parent.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      parent: 'The session that owns the event at `at`.',
      at: 'The last event of the parent that the fork reads as its own.',
      midTurn: 'Whether that point is in the middle of a turn.',
      lastTurn: 'The highest turn number used up to that point. Turn numbers are never reused.',
      title,
      metadata,
      priority,
      owner: 'The owner of the parent. Absent in events of release 0.1.',
      visibility,
      sharedWith,
      agent: agentRef,
      messages: 'How many messages the transcript has at that point.',
      firstWords,
      plan,
      tainted,
      lost: 'The damage of the session that the fork continues, and what is lost because of it. Absent for other forks.',
    },
    example: { parent: session, at: 17, midTurn: false, lastTurn: 3, title: 'Another way', messages: 9 },
  },
  'session.described': {
    about: 'The title, metadata or priority changed. Absent fields stay as they are.',
    kind: 'decision',
    writer: 'outside',
    fields: { title, metadata, priority },
    example: { title: 'Fix the flaky test', metadata: { ticket: 'OPS-12' } },
  },
  'session.shared': {
    about: 'Other members see the session from here on. Absent fields stay as they are.',
    kind: 'fact',
    writer: 'outside',
    fields: { visibility, sharedWith },
    example: { visibility: 'private', sharedWith: ['ada'] },
  },
  'session.pausing': {
    about: 'A pause was requested while a run is at work. The run stops at its next safe point.',
    kind: 'fact',
    writer: 'outside',
    fields: { reason },
    example: { reason: 'the build is red' },
  },
  'session.paused': {
    about:
      'The session is paused: no worker takes it until it is resumed. A run writes this event at its safe point. An immediate pause writes it as a fact that raises the epoch.',
    kind: 'decision',
    writer: 'either',
    fields: { reason },
    example: { reason: 'the build is red' },
  },
  'session.resumed': {
    about: 'A paused session is active again, and its run continues exactly where it stopped.',
    kind: 'decision',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.closed': {
    about: 'The session was closed. Reopening undoes this.',
    kind: 'decision',
    writer: 'either',
    fields: { reason },
    example: { reason: 'merged' },
  },
  'session.reopened': {
    about: 'A closed session is active again.',
    kind: 'decision',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.archived': {
    about: 'A closed session was archived.',
    kind: 'decision',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.restored': {
    about: 'An archived session was restored, and is closed again.',
    kind: 'decision',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.rewound': {
    about:
      'The session continues from an earlier point. Nothing is erased. Like a fork, the event repeats the summary at that point. It raises the epoch. Waiting inputs are cancelled just before it, in the same append.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      to: 'The last event that stays on the live lineage.',
      reason,
      messages: 'How many messages the transcript has at that point.',
      agent: 'The agent at that point; null for none.',
      firstWords,
      plan,
      tainted,
    },
    example: { to: 9, reason: 'the wrong branch', messages: 4, agent: { name: 'coder', version: 1 } },
  },
  'session.quarantined': {
    about:
      'An event of the log is damaged. The live lineage ends just before it, and the session accepts no more work. Nothing is erased. The event raises the epoch.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      seq: 'The first damaged event.',
      reason: 'What is wrong with it.',
      status: 'The status of the session from here on.',
      lastTurn: 'The highest turn number used so far, also in the lost part.',
      messages: 'How many messages the transcript has before the damage.',
      agent: 'The agent before the damage; null for none.',
    },
    example: {
      seq: 12,
      reason: 'the stored bytes do not match the hash',
      status: 'active',
      lastTurn: 3,
      messages: 4,
      agent: null,
    },
  },
  'message.appended': {
    about:
      'A message joins the transcript. A message with the result of an earlier call is a decision, because the call must still be open.',
    kind: 'fact',
    writer: 'either',
    fields: {
      message: 'The message, with its parts verbatim.',
      retries,
      handoff:
        'Set on the report to the model of what people did while they held the session: the seq of the `session.handed` that began it.',
      model: 'The model that wrote the message, as `provider/model`. Present when a run wrote it.',
      cut: 'The key that recalls the whole result, if the message has only its beginning and its end.',
      contributors,
    },
    example: { message: { id: message, role: 'user', content: [{ type: 'text', text: 'Fix the failing test' }] } },
  },
  'agent.bound': {
    about: 'From here on, this version of an agent works in the session.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      agent: agentRef,
      schemaHash: 'The hash of the schema for the agent’s own part of the state.',
      digests: 'The first 16 hexadecimal digits of the SHA-256 of each part of the agent, by the name of the part.',
    },
    example: {
      agent: { name: 'coder', version: 1 },
      schemaHash: hash,
      digests: { instructions: '9f86d081884c7d65', 'tools.search': '60303ae22b998861' },
    },
  },
  'state.committed': {
    about: 'A commit: the typed state changed.',
    kind: 'decision',
    writer: 'either',
    fields: {
      delta: 'The change, as RFC 6902 operations.',
      inverse: 'The delta that undoes it.',
      provenance:
        'How reliable it is: the lowest provenance of everything it was derived from. Absent if it changes only counters and records of files.',
      entryProvenance:
        'The provenance of single entries where it differs. The provenance of the commit is the lowest of them.',
      cause: 'The call that made the change. Absent when the actor made it directly.',
      said: 'The message that asked for the call, and the event that has it. Absent if it was appended later.',
      inputHash,
      outputSummary: 'A short summary of the output of the call.',
      derivedFrom: 'The events that it was derived from.',
      why: 'Why it was changed.',
      origin:
        'Where it came from, when it is not an ordinary change: a revert, a lift of provenance, an adoption, a carry-over from another session, a migration, or a compaction that extracted it.',
      plan: 'The progress of the plan after the commit. Present when the commit changed the plan.',
      contributors,
    },
    example: {
      delta: [{ op: 'add', path: '/facts/port', value: 8080 }],
      inverse: [{ op: 'remove', path: '/facts/port' }],
      provenance: 'verified',
      cause: { tool: 'shell', callId: 'toolu_017' },
      said: { message, seq: 12 },
      why: 'read from the configuration',
    },
  },
  'session.tracked': {
    about:
      'A loop outside Perdure claims the session. It raises the epoch, so that earlier loops and runs can begin no further call.',
    kind: 'decision',
    writer: 'run',
    fields: {
      holder:
        'The process of the loop: the machine, the pid and the start of the process. Absent if the loop works over a server.',
    },
    example: { holder: { machine: 'boot-1/pid:[4026531836]', process: 4711, processStart: 'boot-1/8123' } },
  },
  'tool.called': {
    about:
      'A call begins. The event is durable before the tool runs. A call that is refused, or that a person answers, begins and ends in one append.',
    kind: 'fact',
    writer: 'run',
    fields: {
      callId,
      tool,
      input: 'The input of the tool.',
      inputHash,
      ran: 'False if the tool does not run: the call is refused, or a person answers it. Otherwise absent.',
      effects: 'What running the call twice would do: `none`, `idempotent` or `once`. Absent means `once`.',
      reconciles: 'Set if the loop can find out later whether the call took effect.',
      confined: "Set if all effects are in the session's own files and state, so that going back undoes them.",
      said: 'The message that asked for the call: its event, or how many events before this one it is. Absent if it was appended later.',
      untrusted: 'Set if the tool reads the outside world.',
    },
    example: { ...call, input: { command: 'npm test' }, inputHash: hash, effects: 'once', confined: true },
  },
  'call.reported': {
    about:
      'A loop outside Perdure reports a call, in the append with the message of its result. The runtime saw neither the call nor its effect. The commit in the same append counts it.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      callId,
      tool,
      inputHash,
      outcome: 'How the call ended, as the loop reports it.',
      outputHash: 'The SHA-256 of the output. Absent if the call failed.',
      said: 'The message that asked for the call, and the event that has it.',
    },
    example: { ...call, inputHash: hash, outcome: 'ok', outputHash: hash },
  },
  'tool.retried': {
    about: 'A call is retried, after a crash or after a failure that its tool declares retryable.',
    kind: 'fact',
    writer: 'run',
    fields: { callId, tool, attempt: 'The number of this attempt, from 2.', reason },
    example: { ...call, attempt: 2, reason: 'the worker before was lost' },
  },
  'tool.completed': {
    about: 'A call succeeded. The commit of its changes is in the same append.',
    kind: 'fact',
    writer: 'run',
    fields: {
      callId,
      tool,
      output: 'The output of the tool.',
      outputHash: 'The SHA-256 of the output.',
      durationMs,
      trusted: 'Whether the tool is declared trusted, so that its output counts as verified.',
      keeps: 'A value that the tool gets back at its next call in this session, such as its working folder.',
      source,
      untrusted,
    },
    example: { ...call, output: { exitCode: 0 }, outputHash: hash, durationMs: 812, trusted: false },
  },
  'tool.failed': {
    about: 'A call did not succeed. The model gets the outcome as a typed result.',
    kind: 'fact',
    writer: 'run',
    fields: {
      callId,
      tool,
      outcome: 'How the call ended. `interrupted` means that nobody knows whether it took effect.',
      error: 'The name and the message of the error.',
      durationMs,
      source,
      untrusted,
    },
    example: {
      ...call,
      outcome: 'timeout',
      error: { name: 'Timeout', message: 'took longer than 120 s' },
      durationMs: 120_000,
    },
  },
  'calls.happened': {
    about:
      'The calls with effects that a rewind, a retry, a fork or an adoption left beside the live lineage, and that were not undone. The list replaces the one before it.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      verb: 'What left the calls behind.',
      calls:
        'The newest calls, oldest first: where and when, the tool, its effects, the clipped input and the outcome.',
      more: 'The number of older calls that the list leaves out.',
    },
    example: {
      verb: 'retry',
      calls: [
        {
          session,
          seq: 9,
          endedSeq: 11,
          callId: 'toolu_018',
          tool: 'refund',
          effects: 'once',
          inputHash: hash,
          input: '{"order":"A-1"}',
          outcome: 'ok',
          at: 1_780_000_000_000,
        },
      ],
      more: 0,
    },
  },
  'context.compacted': {
    about: 'An overlay: the events stay in the log, and contexts show the summary instead of them.',
    kind: 'decision',
    writer: 'either',
    fields: {
      from: 'The first event that it covers.',
      to: 'The last one.',
      summary: 'The text that contexts show instead.',
      evicted: 'The keys of evicted content, which `recall` can read: the turns, then the newest calls.',
      calls: 'How many different keys the evicted calls have, including those that `evicted` does not list.',
      summarizer: 'The name of the summarizer that wrote it.',
    },
    example: {
      from: 3,
      to: 64,
      summary: 'The test failed for want of a port.',
      evicted: ['turns:1-4', 'file:src/a.ts@turn:4'],
      calls: 12,
      summarizer: 'summarizeByTurn',
    },
  },
  'input.admitted': {
    about:
      'An input together with the run that will answer it. The message joins the transcript when the run begins. With the policy `reject` it is a decision.',
    kind: 'fact',
    writer: 'outside',
    fields: {
      run: 'The run that will answer it.',
      message: 'The message.',
      policy:
        'What happens while another run is at work: the input waits, joins that run at its next step, or ends it.',
      notBefore: 'The earliest time at which its run may begin, in milliseconds since 1970.',
      from: 'The role and profile of the sender at that time.',
      retries,
      contributors,
    },
    example: {
      run,
      message: { id: message, role: 'user', content: [{ type: 'text', text: 'Fix the failing test' }] },
      policy: 'queue',
      from: { role: 'member' },
    },
  },
  'run.started': {
    about: 'A worker starts the run, for the first time or after the previous worker crashed. It raises the epoch.',
    kind: 'decision',
    writer: 'run',
    fields: { attempt: 'The number of this attempt, from 1.', ...workedBy },
    example: {
      attempt: 1,
      worker: 'worker_01jd3v8m9k5x7q2w4e6r8t0y1a',
      machine: 'build-7-4f1c',
      agent: { name: 'coder', version: 1 },
    },
  },
  'run.resumed': {
    about: 'A worker continues the run after a wait or a pause. It raises the epoch.',
    kind: 'decision',
    writer: 'run',
    fields: workedBy,
    example: {},
  },
  'run.waiting': {
    about: 'The run waits and occupies no worker.',
    kind: 'fact',
    writer: 'run',
    fields: {
      for: 'What it waits for.',
      reason: limitReason,
      until: 'The time at which the run continues by itself, in milliseconds since 1970.',
      session: 'The child session that waits, if the run waits for its subagent.',
    },
    example: { for: 'approval', reason: 'shell wants to run npm publish' },
  },
  'run.ended': {
    about: 'The run has ended. By then every call has its result.',
    kind: 'decision',
    writer: 'run',
    fields: {
      status: 'How it ended.',
      output: 'The result: the last text, or a value that fits the agent’s output schema.',
      error: 'For a failed run: a code to branch on ([all of them](errors.md#why-a-run-failed)), and what happened.',
    },
    example: { status: 'succeeded', output: 'The test passes.' },
  },
  'model.called': {
    about: 'A request to a model begins. The event is durable before the request is sent.',
    kind: 'fact',
    writer: 'run',
    fields: {
      model: 'The name of the model, as `provider/model`.',
      attempt: 'The number of this attempt at the step, from 1.',
      message: 'The message id reserved for the answer.',
      settings: 'The settings of the request, before the budget shortened its answer.',
      tools: 'The names of the tools that the model may call.',
      instructionsHash: 'The SHA-256 of the instructions.',
      requestTokens: 'The estimated size of the request, with the schemas of its tools and its output.',
      reservedTokens: 'What is reserved from the budget: the request plus the maximum answer.',
      reservedUsd: 'What `reservedTokens` cost at most. Absent when the price is not known.',
      requestedBy,
      estimatedTokens: 'The estimate before it was corrected by what the provider reported for earlier requests.',
      budgetedOutputTokens: 'The maximum answer, if the budget left less than `settings` allow.',
    },
    example: {
      model: 'anthropic/claude-sonnet-5-5',
      attempt: 1,
      message,
      settings: { maxOutputTokens: 8192 },
      tools: ['read', 'edit', 'shell'],
      instructionsHash: hash,
      requestTokens: 2100,
      reservedTokens: 10_292,
      estimatedTokens: 1750,
    },
  },
  'model.completed': {
    about: 'The model answered. Its message is in the same append.',
    kind: 'fact',
    writer: 'run',
    fields: {
      model: 'The name of the model.',
      finish: 'Why the model stopped.',
      usage: 'The tokens it used and what they cost.',
      durationMs,
      requestedBy,
    },
    example: {
      model: 'anthropic/claude-sonnet-5-5',
      finish: 'tool-calls',
      usage: { inputTokens: 2087, outputTokens: 143, cachedTokens: 1920, usd: 0.0031 },
      durationMs: 2410,
      requestedBy: 'member:mia',
    },
  },
  'model.failed': {
    about: 'The model gave no answer.',
    kind: 'fact',
    writer: 'run',
    fields: {
      model: 'The name of the model.',
      attempt: 'The number of this attempt at the step.',
      failure:
        'The kind of failure. `refused` means that the provider rejected the request itself; `unusable`, that it rejected the key, the account or the model’s name; `unconfigured`, that no request could be sent; `endless`, that the answer went on beyond its limits and was ended.',
      message: 'The message of the provider, without secrets.',
      retryInMs: 'The delay before the retry. Absent when the run asks another model instead, or fails.',
      retryAfterMs: 'The delay that the provider requested.',
      next: 'The model that the run asks instead.',
      usage: 'What was used, if the provider reported it despite the failure.',
      requestedBy,
    },
    example: {
      model: 'openai/gpt-5.6',
      attempt: 1,
      failure: 'rate-limit',
      message: 'too many requests',
      retryInMs: 2000,
    },
  },
  'message.progressed': {
    about:
      'A part of an answer was shown while the model writes it. It is not part of the transcript, and no longer counts once the answer is complete.',
    kind: 'fact',
    writer: 'run',
    fields: {
      message: 'The id that the message will have.',
      pieces: 'The text and reasoning shown since the previous such event, each with its offset in the answer.',
      usage: 'An estimate for the request and the answer so far. It is charged if the answer breaks off.',
      usedBy,
    },
    example: {
      message,
      pieces: [{ type: 'text', offset: 0, text: 'The test fails because' }],
      usage: { inputTokens: 1200, outputTokens: 6, usd: 0.0037 },
    },
  },
  'message.abandoned': {
    about:
      'An answer broke off. Clients must remove its preview. The transcript shows `content` as a broken-off answer.',
    kind: 'decision',
    writer: 'run',
    fields: {
      message: 'The id that the message would have had.',
      content: 'The text and reasoning that were shown. Absent if nothing was stored.',
      omittedChars: 'How many characters `content` leaves out at its end.',
      why: 'Why the answer broke off: the run was cancelled, its worker stopped, or the model failed.',
      isRest:
        'Set if an earlier event has the beginning of the answer. Then `content` is what its worker had shown after that.',
      usage: 'An estimate of what was used, if the provider reported nothing.',
      usedBy,
    },
    example: {
      message,
      content: [{ type: 'text', text: 'The test fails because' }],
      why: 'cancelled',
      usage: { inputTokens: 1200, outputTokens: 6, usd: 0.0037 },
    },
  },
  'approval.requested': {
    about: 'A call waits for approval.',
    kind: 'fact',
    writer: 'run',
    fields: {
      approval: 'The id of the approval.',
      callId,
      tool,
      inputHash: 'The hash of the input. The answer is valid only for this input.',
      summary: 'A description of the call for the person who decides.',
      requestedBy: 'The actor whose run it is.',
      repeats: 'The earlier call that this one would repeat: where, when and with what outcome.',
      prepares:
        "The tree in which the agent's `prepare` command would run without a sandbox. The answer is about that command, not about the call.",
      taintedBy:
        'What brought data from outside into the context that the call was asked for in: the first result of each tool, and the number of further ones.',
      roles: 'The roles that may answer. Absent means approvers and admins.',
      notRequester: 'Whether the answer must come from another person than the requester.',
      expiresAt: 'When the approval expires, in milliseconds since 1970.',
    },
    example: {
      approval,
      ...call,
      inputHash: hash,
      summary: 'npm publish',
      requestedBy: 'member:ann',
      notRequester: true,
    },
  },
  'approval.settled': {
    about: 'The approval was answered, expired, or became void because its call is over. It never changes again.',
    kind: 'decision',
    writer: 'either',
    fields: {
      approval: 'The id of the approval.',
      answer: 'How it was settled.',
      comment: 'What the person says about the answer. The model receives it.',
      forSource:
        'Set if the tool may also run later in this session, while the taint comes from the sources that the approval names.',
    },
    example: { approval, answer: 'denied', comment: 'not on a Friday' },
  },
  'question.asked': {
    about: 'An agent asks a question of the person it works for, by a tool call.',
    kind: 'fact',
    writer: 'run',
    fields: { callId, tool, question: 'The question.', options: 'Suggested answers.' },
    example: { callId: 'toolu_018', tool: 'ask', question: 'Which port?', options: ['8080', '3000'] },
  },
  'question.answered': {
    about: 'A person answered the question.',
    kind: 'decision',
    writer: 'outside',
    fields: { callId, answer: 'The answer.' },
    example: { callId: 'toolu_018', answer: '8080' },
  },
  'child.opened': {
    about: 'A subagent begins to work for a call of this session, in a child session of its own.',
    kind: 'fact',
    writer: 'run',
    fields: { callId, session: childSession },
    example: { callId: 'toolu_019', session },
  },
  'child.waiting': {
    about: 'The child session waits or is paused, and so does the call that it works for.',
    kind: 'decision',
    writer: 'run',
    fields: { callId, session: childSession, for: 'What the child waits for.', reason: limitReason },
    example: { callId: 'toolu_019', session, for: 'question', reason: 'Which port?' },
  },
  'child.resumed': {
    about: 'The child session continues. The worker that continues it records this here.',
    kind: 'decision',
    writer: 'either',
    fields: { callId, session: childSession },
    example: { callId: 'toolu_019', session },
  },
  'child.ended': {
    about: 'The child session has ended. Its usage counts against this session too.',
    kind: 'decision',
    writer: 'run',
    fields: { callId, session: childSession, usage: 'The total usage of the child.', contributors },
    example: { callId: 'toolu_019', session, usage: { inputTokens: 5400, outputTokens: 610 } },
  },
  'files.snapshotted': {
    about: "From here on, the session's files are this tree. The commit in the same append lists the changes.",
    kind: 'decision',
    writer: 'either',
    fields: {
      tree: 'The hash of the tree, which names the snapshot.',
      changed: 'How many files changed since the previous snapshot.',
      leftOut: 'The files that the snapshot leaves out: for each reason their count and some paths.',
      cause: 'The call that changed them.',
      origin: 'Where the files came from, when neither a call nor a person changed them.',
      contributors,
    },
    example: {
      tree: hash,
      changed: { created: 1, modified: 2, deleted: 0, renamed: 0 },
      leftOut: { ignored: { count: 412, paths: ['node_modules'] } },
      cause: { tool: 'shell', callId: 'toolu_017' },
    },
  },
  'files.conflicted': {
    about: "Changes that lost a conflict and are not in the session's files. `tree` keeps them.",
    kind: 'fact',
    writer: 'either',
    fields: {
      tree: 'The files with those changes.',
      paths: 'Some of the paths in conflict.',
      conflicts: 'How many paths are in conflict.',
    },
    example: { tree: hash, paths: ['src/main.ts'], conflicts: 1 },
  },
  'files.bound': {
    about: "The session works in a person's own folder, in place.",
    kind: 'decision',
    writer: 'outside',
    fields: { path: 'The folder.', machine: 'The machine that the folder is on.' },
    example: { path: '/home/ann/shop', machine: 'ann-laptop' },
  },
  'files.prepared': {
    about: 'The agent’s `prepare` command recreated files that snapshots leave out, such as installed packages.',
    kind: 'fact',
    writer: 'run',
    fields: {
      command: 'The command.',
      exitCode: 'The exit code. Null when the command did not finish.',
      output: 'The end of its output.',
      durationMs,
    },
    example: { command: 'npm ci', exitCode: 0, output: 'added 212 packages', durationMs: 9400 },
  },
  'artifact.kept': {
    about: 'A file or value is kept by name for people.',
    kind: 'decision',
    writer: 'either',
    fields: {
      name: 'One line of text that is a valid file name on every system.',
      mediaType: 'The media type of the content.',
      size: 'The size in bytes.',
      blob: 'The SHA-256 of the content, by which the store keeps it.',
      path: 'The file of the session that it was kept from.',
      contributors,
    },
    example: { name: 'report.md', mediaType: 'text/markdown', size: 1280, blob: hash, path: 'out/report.md' },
  },
  'taint.inherited': {
    about:
      'Data that is tainted in another session comes into this one: from the caller of a subagent or from a subagent, by a carry-over, an adoption or a restore of files.',
    kind: 'decision',
    writer: 'either',
    fields: {
      via: 'The way by which it comes.',
      from: 'The session that it comes from.',
      sources: 'The first result of each tool that tainted that session.',
      more: 'The number of further results.',
      files: 'The files that were written there in a tainted context.',
      callId: 'The call whose subagent brings it. Otherwise absent.',
    },
    example: { via: 'carry', from: session, sources: [{ tool: 'fetch', session, seq: 9, turn: 2 }], more: 0 },
  },
  'taint.cleared': {
    about:
      'An approver vouches for what the context holds now. A file that was written while it was tainted still taints the context that reads it, unless `files` is set.',
    kind: 'decision',
    writer: 'outside',
    fields: { reason: 'Why the content can be trusted.', files: 'Set if the approver vouches for the files too.' },
    example: { reason: 'read the page: it is our own wiki' },
  },
  'budget.set': {
    about: 'The limits on what the session may use. A run that waits for its budget continues.',
    kind: 'decision',
    writer: 'outside',
    fields: { limits: 'The limits. An absent field means no limit.', reason },
    example: { limits: { usd: 5, turns: 40 }, reason: 'one more day' },
  },
  'cancel.requested': {
    about:
      'A cancel of the run that the header names. It raises the epoch, so the run does nothing more. The writer, or the next claim or command, then ends open calls and the run. It has no effect if the run has ended before.',
    kind: 'fact',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'quota.changed': {
    about: 'A quota that the run waits for was changed. The run continues if there is room now.',
    kind: 'fact',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.handed': {
    about:
      'A handoff: from here on a person holds the session, or its agent holds it again. It raises the epoch, except when the agent writes it.',
    kind: 'fact',
    writer: 'either',
    fields: {
      to: 'The new holder.',
      member: 'The member who may act as the holder.',
      role: 'The least role of the members who may act as the holder.',
      reason,
      callId: 'The call by which the agent handed the session over.',
      replay: 'Set in the fork of a replay, to keep workers away. No person is asked for anything.',
    },
    example: { to: 'human', role: 'approver', reason: 'The refund is above the limit', callId: 'call_1' },
  },
};
