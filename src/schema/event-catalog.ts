import type { EventType, PayloadOf } from './event.ts';

/** The keys of every member of a union; `keyof` gives only those that all members share. */
type KeysOfUnion<T> = T extends unknown ? keyof T : never;

/** What an event is about, for somebody who reads a log. Nothing imports this at run time but documents. */
export interface EventEntry<T extends EventType> {
  readonly about: string;
  /** A fact lands at any head; a decision names the head it was decided on. */
  readonly kind: 'fact' | 'decision';
  /** Who appends it: who holds the epoch or takes it, somebody outside, or either. */
  readonly writer: 'run' | 'outside' | 'either';
  readonly fields: { readonly [Field in KeysOfUnion<PayloadOf<T>>]: string };
  /** A payload, as the newest version has it. */
  readonly example: Readonly<Record<string, unknown>>;
}

const session = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';
const run = 'run_01jd3v8m9k5x7q2w4e6r8t0y1b';
const message = 'msg_01jd3v8m9k5x7q2w4e6r8t0y1c';
const approval = 'apr_01jd3v8m9k5x7q2w4e6r8t0y1d';
const call = { callId: 'toolu_017', tool: 'shell' };
const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

const callId = 'The id of the call, as the model gave it.';
const tool = 'The name of the tool.';
const reason = 'Why, in the words of whoever did it.';
const inputHash = "The hash of the call's input, keyed by session, so that equal inputs of one session are known.";
const title = 'What a listing shows.';
const metadata = 'An object of the users’ own, up to 16 Ki characters.';
const priority = 'Which sessions workers take first: `low`, `normal` or `high`.';
const agentRef = 'The agent by name and version.';
const durationMs = 'How long it took.';
const retries = 'The turn that this one tries again.';
const childSession = 'The session in which the other agent works.';
const limitReason = 'Why it waits, for people.';

export const eventCatalog: { readonly [T in EventType]: EventEntry<T> } = {
  'session.opened': {
    about: 'The first event of a session that is no fork.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      title,
      metadata,
      priority,
      agent: agentRef,
      calledBy: 'The session and the call that it works for, where a tool opened it for a subagent.',
    },
    example: { title: 'Fix the failing test', agent: { name: 'coder', version: 1 } },
  },
  'session.forked': {
    about:
      'The first event of a fork. It repeats what a listing shows of the parent at that point, so that no parent is read to list a child.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      parent: 'The session that the event at `at` belongs to.',
      at: 'The last event of the parent that the fork reads as its own.',
      midTurn: 'Whether that is in the middle of a turn.',
      lastTurn: 'The highest turn number given up to there, so that none is given twice.',
      title,
      metadata,
      priority,
      agent: agentRef,
      messages: 'How many messages the transcript has there.',
    },
    example: { parent: session, at: 17, midTurn: false, lastTurn: 3, title: 'Another way', messages: 9 },
  },
  'session.described': {
    about: 'Title, metadata or priority were changed. What is left out stays as it is.',
    kind: 'decision',
    writer: 'outside',
    fields: { title, metadata, priority },
    example: { title: 'Fix the flaky test', metadata: { ticket: 'OPS-12' } },
  },
  'session.pausing': {
    about: 'A pause was asked for while a run is at work: it stops at the next safe point.',
    kind: 'decision',
    writer: 'outside',
    fields: { reason },
    example: { reason: 'the build is red' },
  },
  'session.paused': {
    about: 'Nobody works on the session until it is resumed. A run writes it when it has come to its safe point.',
    kind: 'decision',
    writer: 'either',
    fields: { reason },
    example: { reason: 'the build is red' },
  },
  'session.resumed': {
    about: 'A paused session is active again, and its run goes on from exactly where it was.',
    kind: 'decision',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.closed': {
    about: 'The session has ended. Reopening undoes it.',
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
    about: 'A closed session was put away.',
    kind: 'decision',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.restored': {
    about: 'An archived session is closed again.',
    kind: 'decision',
    writer: 'outside',
    fields: {},
    example: {},
  },
  'session.rewound': {
    about:
      'What comes after goes on from an earlier point. Nothing is erased; like a fork it repeats what a listing shows of that point. It raises the epoch. Inputs that wait are cancelled just before it, in the same append.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      to: 'The last event that stands.',
      reason,
      messages: 'How many messages the transcript has there.',
      agent: 'The agent there; null for none.',
    },
    example: { to: 9, reason: 'the wrong branch', messages: 4, agent: { name: 'coder', version: 1 } },
  },
  'message.appended': {
    about:
      'A message joins the transcript. One that gives the result of an earlier call is a decision, since the call must still be open.',
    kind: 'fact',
    writer: 'either',
    fields: { message: 'The message, with its parts word for word.', retries },
    example: { message: { id: message, role: 'user', content: [{ type: 'text', text: 'Fix the failing test' }] } },
  },
  'agent.bound': {
    about: 'The session belongs to this version of an agent from here on.',
    kind: 'decision',
    writer: 'outside',
    fields: {
      agent: agentRef,
      schemaHash: 'Of the schema of its own part of the state.',
      digests: 'Of each part of the agent as it was: 16 hexadecimal digits of its SHA-256, by the name of the part.',
    },
    example: {
      agent: { name: 'coder', version: 1 },
      schemaHash: hash,
      digests: { instructions: '9f86d081884c7d65', 'tools.search': '60303ae22b998861' },
    },
  },
  'state.committed': {
    about: 'A commit: the typed state was changed.',
    kind: 'decision',
    writer: 'either',
    fields: {
      delta: 'The change, as RFC 6902 has it.',
      inverse: 'The delta that takes it back.',
      provenance: 'How far it can be relied on; the lowest of what it came from.',
      entryProvenance:
        'Of entries that keep or get back one of their own; the provenance of the commit is the lowest of them.',
      cause: "The call whose work this is; without it, the actor's own.",
      inputHash,
      outputSummary: 'What the call gave, in short.',
      derivedFrom: 'The events it was concluded from.',
      why: 'Why it was done.',
      origin:
        'What it is, when it is not simply a change: a revert, a lift of provenance, an adoption, what was carried over, a migration.',
    },
    example: {
      delta: [{ op: 'add', path: '/facts/port', value: 8080 }],
      inverse: [{ op: 'remove', path: '/facts/port' }],
      provenance: 'verified',
      cause: { tool: 'shell', callId: 'toolu_017' },
      why: 'read from the configuration',
    },
  },
  'tool.called': {
    about: 'A call begins. Durable before the tool runs.',
    kind: 'fact',
    writer: 'run',
    fields: { callId, tool, input: 'What the tool is given.', inputHash },
    example: { ...call, input: { command: 'npm test' }, inputHash: hash },
  },
  'tool.retried': {
    about: 'A call is tried again, after a crash or a failure that its tool allows to be tried again.',
    kind: 'fact',
    writer: 'run',
    fields: { callId, tool, attempt: 'Which try this is, from 2 on.', reason },
    example: { ...call, attempt: 2, reason: 'the worker before was lost' },
  },
  'tool.completed': {
    about: 'A call ended well. The commit of what it changed is in the same append.',
    kind: 'fact',
    writer: 'run',
    fields: {
      callId,
      tool,
      output: 'What the tool gave.',
      outputHash: 'Its SHA-256.',
      durationMs,
      trusted: 'Whether the tool is declared trusted: what it says counts as verified.',
      keeps: 'What the tool wants back at its next call in this session, such as a working folder.',
    },
    example: { ...call, output: { exitCode: 0 }, outputHash: hash, durationMs: 812, trusted: false },
  },
  'tool.failed': {
    about: 'A call ended otherwise: a typed result, which the model is told.',
    kind: 'fact',
    writer: 'run',
    fields: {
      callId,
      tool,
      outcome: '`interrupted`: whether it took effect is not known.',
      error: 'Its name and what it said.',
      durationMs,
    },
    example: {
      ...call,
      outcome: 'timeout',
      error: { name: 'Timeout', message: 'took longer than 120 s' },
      durationMs: 120_000,
    },
  },
  'context.compacted': {
    about: 'An overlay: the events stay, and contexts hold the summary in their place.',
    kind: 'decision',
    writer: 'either',
    fields: {
      from: 'The first event that it covers.',
      to: 'The last one.',
      summary: 'What contexts hold instead.',
      evicted: 'The keys of what was left out and can be recalled.',
      calls: 'How many calls that is, listed or not.',
      summarizer: 'What wrote it, by its name.',
    },
    example: {
      from: 3,
      to: 64,
      summary: 'The test failed for want of a port.',
      evicted: ['turn:1', 'call:toolu_017'],
      calls: 12,
      summarizer: 'summarizeByTurn',
    },
  },
  'input.admitted': {
    about:
      'An input and the run that will answer it, in one. The message joins the transcript when the run begins. With the policy `reject` it is a decision.',
    kind: 'fact',
    writer: 'outside',
    fields: {
      run: 'The run that it makes.',
      message: 'The message.',
      policy: 'What it does while another run is at work: wait, join it at its next step, or end it.',
      notBefore: 'Its run begins no sooner, in milliseconds since 1970.',
      from: 'The role and profile of whoever sent it, as they were then.',
      retries,
    },
    example: {
      run,
      message: { id: message, role: 'user', content: [{ type: 'text', text: 'Fix the failing test' }] },
      policy: 'queue',
      from: { role: 'member' },
    },
  },
  'run.started': {
    about: 'A worker takes the run on: the first time, or after a crash of the one before. It raises the epoch.',
    kind: 'decision',
    writer: 'run',
    fields: { attempt: 'Which worker of the run this is, from 1 on.' },
    example: { attempt: 1 },
  },
  'run.resumed': {
    about: 'A worker takes it on again after a wait or a pause. It raises the epoch.',
    kind: 'decision',
    writer: 'run',
    fields: {},
    example: {},
  },
  'run.waiting': {
    about: 'The run waits, and holds no worker.',
    kind: 'fact',
    writer: 'run',
    fields: {
      for: 'What it waits for.',
      reason: limitReason,
      until: 'Goes on by itself then, in milliseconds since 1970.',
      session: 'The child, where it is that which waits.',
    },
    example: { for: 'approval', reason: 'shell wants to run npm publish' },
  },
  'run.ended': {
    about: 'The run is over. Every call has its result by then.',
    kind: 'decision',
    writer: 'run',
    fields: {
      status: 'How it ended.',
      output: 'What it gave: the last text, or what the schema of the agent’s output asks for.',
      error: 'Of one that failed: a code to branch on ([all of them](errors.md#why-a-run-failed)), and what happened.',
    },
    example: { status: 'succeeded', output: 'The test passes.' },
  },
  'model.called': {
    about: 'A model is asked. Durable before it is.',
    kind: 'fact',
    writer: 'run',
    fields: {
      model: 'Its name, as `provider/model`.',
      attempt: 'Which try of this step it is, from 1 on.',
      message: 'The id that the answer will have.',
      settings: 'What it is asked with.',
      tools: 'The tools on offer, by name.',
      instructionsHash: 'The SHA-256 of the instructions.',
      requestTokens: 'An estimate of the request.',
      reservedTokens: 'What is reserved from the budget: that, and what the answer may take.',
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
    },
  },
  'model.completed': {
    about: 'The model has answered. The message is in the same append.',
    kind: 'fact',
    writer: 'run',
    fields: { model: 'Its name.', finish: 'Why it stopped.', usage: 'What it used.', durationMs },
    example: {
      model: 'anthropic/claude-sonnet-5-5',
      finish: 'tool-calls',
      usage: { inputTokens: 2087, outputTokens: 143, cachedTokens: 1920, usd: 0.0031 },
      durationMs: 2410,
    },
  },
  'model.failed': {
    about: 'The model gave no answer.',
    kind: 'fact',
    writer: 'run',
    fields: {
      model: 'Its name.',
      attempt: 'Which try of this step it was.',
      failure: 'Of what kind; `refused` is the judgement of the provider on the request itself.',
      message: 'What the provider said, without secrets.',
      retryInMs: 'After which it is tried again; absent when it is not.',
      usage: 'Where the provider counted what it gave.',
    },
    example: {
      model: 'openai/gpt-5.6',
      attempt: 1,
      failure: 'rate-limit',
      message: 'too many requests',
      retryInMs: 2000,
    },
  },
  'message.abandoned': {
    about: 'What was shown of a message that never came to its end: whoever drew it takes it away.',
    kind: 'decision',
    writer: 'run',
    fields: { message: 'The id that it would have had.' },
    example: { message },
  },
  'approval.requested': {
    about: 'A call waits for somebody to allow it.',
    kind: 'fact',
    writer: 'run',
    fields: {
      approval: 'Its id.',
      callId,
      tool,
      inputHash: 'The answer counts for this very input.',
      summary: 'For the person who is asked.',
      requestedBy: 'Whose run it is.',
      roles: 'Who may answer; else approvers and admins.',
      notRequester: 'Whether somebody else than the requester has to.',
      expiresAt: 'After which nobody can, in milliseconds since 1970.',
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
    about: 'It was answered, once and for good; it expired; or what it was asked for is over.',
    kind: 'decision',
    writer: 'either',
    fields: { approval: 'Its id.', answer: 'What it came to.', reason },
    example: { approval, answer: 'denied', reason: 'not on a Friday' },
  },
  'question.asked': {
    about: 'An agent asks the person whom it works for, by a call.',
    kind: 'fact',
    writer: 'run',
    fields: { callId, tool, question: 'What it asks.', options: 'Answers that it suggests.' },
    example: { callId: 'toolu_018', tool: 'ask', question: 'Which port?', options: ['8080', '3000'] },
  },
  'question.answered': {
    about: 'Somebody has answered it.',
    kind: 'decision',
    writer: 'outside',
    fields: { callId, answer: 'What they said.' },
    example: { callId: 'toolu_018', answer: '8080' },
  },
  'child.opened': {
    about: 'Another agent works for a call of this session, in a session of its own.',
    kind: 'fact',
    writer: 'run',
    fields: { callId, session: childSession },
    example: { callId: 'toolu_019', session },
  },
  'child.waiting': {
    about: 'It waits for somebody or was paused, and with it the call that it works for.',
    kind: 'decision',
    writer: 'run',
    fields: { callId, session: childSession, for: 'What it waits for.', reason: limitReason },
    example: { callId: 'toolu_019', session, for: 'question', reason: 'Which port?' },
  },
  'child.resumed': {
    about: 'It goes on. Whoever goes on with it tells this session.',
    kind: 'decision',
    writer: 'either',
    fields: { callId, session: childSession },
    example: { callId: 'toolu_019', session },
  },
  'child.ended': {
    about: 'It has ended. What it used counts here too.',
    kind: 'decision',
    writer: 'run',
    fields: { callId, session: childSession, usage: 'What it used in all.' },
    example: { callId: 'toolu_019', session, usage: { inputTokens: 5400, outputTokens: 610 } },
  },
  'files.snapshotted': {
    about: "The session's files are this tree from here on. What changed is in the commit beside it.",
    kind: 'decision',
    writer: 'either',
    fields: {
      tree: 'The hash of the tree, by which it is named.',
      changed: 'How many files changed since the snapshot before.',
      leftOut: 'What no snapshot holds, and why: count and some paths for each reason.',
      cause: 'The call that changed them.',
      origin: 'Where they came from, when no call and nobody’s hand made them.',
    },
    example: {
      tree: hash,
      changed: { created: 1, modified: 2, deleted: 0, renamed: 0 },
      leftOut: { ignored: { count: 412, paths: ['node_modules'] } },
      cause: { tool: 'shell', callId: 'toolu_017' },
    },
  },
  'files.conflicted': {
    about: "Changes that the session's files do not have, because others took their place: `tree` has them.",
    kind: 'fact',
    writer: 'either',
    fields: {
      tree: 'The files as they would have been.',
      paths: 'Some of those that differ.',
      conflicts: 'How many there are.',
    },
    example: { tree: hash, paths: ['src/main.ts'], conflicts: 1 },
  },
  'files.bound': {
    about: "The session works in a person's own folder, in place.",
    kind: 'decision',
    writer: 'outside',
    fields: { path: 'The folder.', machine: 'The machine that has it.' },
    example: { path: '/home/ann/shop', machine: 'ann-laptop' },
  },
  'files.prepared': {
    about: 'What snapshots leave out was made anew by the command of the agent.',
    kind: 'fact',
    writer: 'run',
    fields: {
      command: 'What was run.',
      exitCode: 'Null when it did not come to its end.',
      output: 'The end of what it wrote.',
      durationMs,
    },
    example: { command: 'npm ci', exitCode: 0, output: 'added 212 packages', durationMs: 9400 },
  },
  'artifact.kept': {
    about: 'A file or a value is kept by its name, for people.',
    kind: 'decision',
    writer: 'either',
    fields: {
      name: 'One line that can be the name of a file everywhere.',
      mediaType: 'What kind of content it is.',
      size: 'In bytes.',
      blob: 'The SHA-256 of the content, under which the store has it.',
      path: 'The file of the session that it was.',
    },
    example: { name: 'report.md', mediaType: 'text/markdown', size: 1280, blob: hash, path: 'out/report.md' },
  },
  'budget.set': {
    about: 'What the session may use in all; a run that waits for its budget goes on.',
    kind: 'decision',
    writer: 'outside',
    fields: { limits: 'What is left out is not limited.', reason },
    example: { limits: { usd: 5, turns: 40 }, reason: 'one more day' },
  },
  'session.handed': {
    about: 'A handoff: the session is in the hands of a person, or of its agent again. It raises the epoch.',
    kind: 'decision',
    writer: 'run',
    fields: { to: 'Whose it is now.', reason },
    example: { to: 'human', reason: 'I do this part by hand' },
  },
};
