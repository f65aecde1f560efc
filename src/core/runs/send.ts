import { z } from 'zod';
import { listOf } from '../../schema/bounded.ts';
import { isPerdureError } from '../../schema/error.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { newId, type RunId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { type Message, someParts, UserPart } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { InputPolicy } from '../../schema/run.ts';
import { execute } from '../engine/execute.ts';
import type { CallerAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { AdmittedRun } from './admitted-run.ts';
import { type CancelAccess, cancelRun } from './cancel.ts';
import { type Run, type RunHandleAccess, runHandle } from './runs.ts';

/** Text, or parts: text and files with their bytes as base64. */
export type SendInput = string | readonly z.input<typeof UserPart>[];

export interface SendOptions {
  /** Repeating the same input with the same key returns the same run, and sends nothing twice. */
  readonly idempotencyKey?: string | undefined;
  /**
   * How to treat the input while a run is in progress. `queue`, the default: the input waits. `steer`: it joins the
   * run at the run's next step. `interrupt`: the run is cancelled first, and the input is answered before those that
   * wait. `reject`: the input is rejected.
   */
  readonly policy?: InputPolicy | undefined;
  /** The earliest start of the run: a date, or milliseconds since 1970. Later inputs do not wait for it. */
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
      error: 'an input that begins later is queued: leave out the policy',
    },
  );
type Admission = z.output<typeof Options>;

const contentOf = (input: SendInput) =>
  parseInput('the input', Content, typeof input === 'string' ? [{ type: 'text', text: input }] : input);

/**
 * Cancels the run in progress, but only while the admitted input still waits. A repeated request must not cancel the
 * input's own run, which may have begun in the meantime.
 */
const interrupt = async (scope: CancelAccess, key: SessionKey, admitted: RunId): Promise<void> => {
  const { run, queue } = await scope.folds.head(key);
  if (!run || !queue.some((input) => input.run === admitted)) return;
  await cancelRun(scope, key, run.id).catch((error) => {
    if (!isPerdureError(error, 'RUN_NOT_FOUND')) throw error; // it has ended by itself
  });
};

/** Stores the input and creates its run in one append, so that every acknowledged input will be executed. */
export const admitInput = async (
  scope: CancelAccess & CallerAccess,
  key: SessionKey,
  input: SendInput,
  { idempotencyKey, policy = defaultPolicy, notBefore }: Admission = {},
): Promise<AdmittedRun> => {
  const content = contentOf(input);
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
  if (event?.type !== 'input.admitted') throw new TypeError('expected the admission to write input.admitted');
  if (policy === 'interrupt') await interrupt(scope, key, event.payload.run);
  return { id: event.payload.run, admittedAt: event.seq };
};

/**
 * Admits an input for a caller, and returns the handle on its run. A caller's keys are kept apart from the runtime's
 * own.
 */
export const sendInput = async (
  scope: RunHandleAccess & CallerAccess,
  key: SessionKey,
  input: SendInput,
  options: SendOptions = {},
): Promise<Run<Json>> => {
  const admitted = await admitInput(scope, key, input, parseInput('the options', Options, options));
  scope.needWorker(key);
  return runHandle(scope, key, admitted);
};
