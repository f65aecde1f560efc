import { z } from 'zod';
import { isPerdureError } from '../../schema/error.ts';
import { ApprovalId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import type { SessionKey } from '../ports/store.ts';
import { settledAlready } from '../session/decide-answer.ts';
import { parseInput } from '../session/event-codec.ts';
import { execute } from './execute.ts';
import type { Scope } from './scope.ts';

const Answer = z.strictObject({ answer: z.enum(['approved', 'denied']), reason: Text.max(2000).optional() });

/** One answer for good, kept by a key of the session: whoever gives the same again is told that it holds, whatever became of the call. */
export const answerApproval = async (
  scope: Scope,
  key: SessionKey,
  id: string,
  input: z.input<typeof Answer>,
): Promise<void> => {
  const approval = parseInput('the approval', ApprovalId, id);
  const { answer, reason } = parseInput('the answer', Answer, input);
  const command = { type: 'answer', approval, answer, reason, now: scope.clock.now() } as const;
  try {
    await execute(scope, key, command, { idempotencyKey: `approval:${approval}`, body: { answer, by: scope.actor } });
  } catch (error) {
    throw isPerdureError(error, 'KEY_REUSED') ? settledAlready(approval, 'was answered otherwise') : error;
  }
};
