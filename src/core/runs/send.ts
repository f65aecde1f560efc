import { z } from 'zod';
import { listOf } from '../../schema/bounded.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { newId, type RunId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { type Message, someParts, UserPart } from '../../schema/message.ts';
import { InputPolicy } from '../../schema/run.ts';
import { execute } from '../engine/execute.ts';
import type { Scope } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { parseInput } from '../session/events/event-codec.ts';
import type { AdmittedRun } from './admitted-run.ts';
import { cancelRun } from './cancel.ts';
import { type Run, runHandle } from './runs.ts';

/** Text, or parts: text and files with their bytes as base64. */
export type SendInput = string | readonly z.input<typeof UserPart>[];

export interface SendOptions {
  /** The same key with the same input again gives the same run, and nothing is sent twice. */
  readonly idempotencyKey?: string | undefined;
  /** What becomes of the input while a run is under way: it waits its turn (`queue`), joins the run at its next step (`steer`), ends the run first (`interrupt`), or is refused (`reject`). */
  readonly policy?: InputPolicy | undefined;
  /** The run begins no sooner than this: a date, or milliseconds since 1970. Inputs that are sent later need not wait for it. */
  readonly notBefore?: Date | number | undefined;
}

export const defaultPolicy = 'queue';

const Content = listOf(UserPart, { ...someParts, error: 'expected text, or a list of parts' });
const Options = z
  .strictObject({
    idempotencyKey: CallersKey.optional(),
    policy: InputPolicy.optional(),
    notBefore: z.union([z.date().transform(Number), z.int().nonnegative()]).optional(),
  })
  .refine(
    ({ policy = defaultPolicy, notBefore }) => notBefore === undefined || policy === 'queue' || policy === 'reject',
    {
      path: ['notBefore'],
      error: 'what begins later is queued: leave out the policy',
    },
  );
type Admission = z.output<typeof Options>;

const contentOf = (input: SendInput) =>
  parseInput('the input', Content, typeof input === 'string' ? [{ type: 'text', text: input }] : input);

const noAgent = (key: SessionKey): PerdureError =>
  new PerdureError(
    'AGENT_INVALID',
    `${key.session} has no agent that could answer: open it with one, or bind one; a loop of your own uses append`,
    { details: { ...key } },
  );

/** What is under way when the input is admitted, and nothing that came after it: repeated by its key, it may have had its turn. */
const interrupt = async (scope: Scope, key: SessionKey, admitted: RunId): Promise<void> => {
  const { run, queue } = await scope.folds.head(key);
  if (!run || !queue.some((input) => input.run === admitted)) return;
  await cancelRun(scope, key, run.id).catch((error) => {
    if (!isPerdureError(error, 'RUN_NOT_FOUND')) throw error; // it has ended by itself
  });
};

/** Stores the input and makes the run that will answer it, in one: what is acknowledged here will be worked on. */
export const admitInput = async (
  scope: Scope,
  key: SessionKey,
  input: SendInput,
  { idempotencyKey, policy = defaultPolicy, notBefore }: Admission = {},
): Promise<AdmittedRun> => {
  const content = contentOf(input);
  const fold = await scope.folds.head(key);
  if (!fold.bound) throw noAgent(key);
  const now = scope.clock.now();
  const message: Message = { id: newId('msg', now), role: 'user', content };
  const [event] = await execute(
    scope,
    key,
    {
      type: 'admit',
      input: {
        run: newId('run', now),
        message,
        policy: policy === 'reject' ? 'queue' : policy,
        from: scope.requester,
        notBefore,
      },
      ...(policy === 'reject' && { whileIdleAt: now }),
    },
    { idempotencyKey, body: { content, policy, ...(notBefore !== undefined && { notBefore }) } },
  );
  if (event?.type !== 'input.admitted') throw new TypeError('an admission gives one event');
  if (policy === 'interrupt') await interrupt(scope, key, event.payload.run);
  return { id: event.payload.run, admittedAt: event.seq };
};

/** The same for callers, who follow the run, and whose keys are not the runtime's own. */
export const sendInput = async (
  scope: Scope,
  key: SessionKey,
  input: SendInput,
  options: SendOptions = {},
): Promise<Run<Json>> => {
  const admitted = await admitInput(scope, key, input, parseInput('the options', Options, options));
  scope.needWorker(key);
  return runHandle(scope, key, admitted);
};
