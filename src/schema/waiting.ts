import { z } from 'zod';
import { Actor, RunId, SessionId } from './ids.ts';

/** The kinds of things that a session waits for. Each is a record by id. */
export const waitingKinds = ['approvals', 'questions', 'calls', 'subagents', 'inputs', 'runs', 'handoffs'] as const;
export type WaitingKind = (typeof waitingKinds)[number];

/** The maximum number of entries of each kind, and of characters of their texts. */
export const maxWaiting = 50;
export const maxWaitingChars = 200;

export const WaitingEntry = z
  .strictObject({
    what: z
      .string()
      .describe(
        'One clipped line: the summary of a call, the question, the text of an input, or the reason of a wait.',
      ),
    since: z.strictObject({ seq: z.int(), at: z.int() }).describe('The event since which it waits, and its time.'),
    until: z.int().optional().describe('When an approval expires, an input may begin, or a run continues by itself.'),
    tool: z.string().optional(),
    callId: z.string().optional(),
    run: RunId.optional(),
    session: SessionId.optional().describe('The session of the subagent.'),
    by: Actor.optional().describe('Who requested the call, sent the input or handed the session over.'),
    mayAnswer: z
      .array(z.string())
      .optional()
      .describe('Who may end the wait: `role:NAME` for the members with this role, or `member:NAME`.'),
    notRequester: z.literal(true).optional().describe('Set if no member who asked for the call may approve it.'),
    options: z.array(z.string()).optional().describe('The answers that a question offers.'),
  })
  .meta({ id: 'WaitingEntry' });
/** One thing that a session waits for. */
export type WaitingEntry = Readonly<z.infer<typeof WaitingEntry>>;

const entries = z.record(z.string(), WaitingEntry);

export const Waiting = z
  .strictObject({
    approvals: entries.describe('Open approvals, by id.'),
    questions: entries.describe('Unanswered questions, by the id of their call.'),
    calls: entries.describe('Calls in flight, by id.'),
    subagents: entries.describe('Sessions of subagents that have not ended, by the id of the call they work for.'),
    inputs: entries.describe('Inputs that no run has begun with, by the id of their run. A scheduled one has `until`.'),
    runs: entries.describe('The run, by id, if it waits for a budget, a quota, its model or its agent.'),
    handoffs: entries.describe('The handoff to the people who hold the session, by its seq.'),
    more: z
      .partialRecord(z.enum(waitingKinds), z.int().positive())
      .describe(`How many entries of each kind are left out. Each kind has at most ${maxWaiting}.`),
  } satisfies Record<WaitingKind | 'more', z.ZodType>)
  .meta({ id: 'Waiting', description: 'What the session waits for, computed at reading. No commit can change it.' });
/** What a session waits for, by kind and id. It is computed when the state is read, and is in no commit and no diff. */
export type Waiting = { readonly [Kind in WaitingKind]: Readonly<Record<string, WaitingEntry>> } & {
  readonly more: Readonly<Partial<Record<WaitingKind, number>>>;
};
