import type { ApprovalId } from './ids.ts';
import { Text } from './json.ts';

const ownPrefixes = { approval: 'approval:', call: 'call:' } as const;

export const IdempotencyKeyText = Text.min(1).max(255);

/** The idempotency key of the answer to an approval. It ensures that an approval is answered only once. */
export const approvalKey = (approval: ApprovalId): string => `${ownPrefixes.approval}${approval}`;

/**
 * The idempotency key of the task that a call sends to its child session. It ensures that the task is sent only once.
 */
export const taskKey = (callId: string): string => `${ownPrefixes.call}${callId}`;

/**
 * A key chosen by a caller. The runtime's own prefixes are reserved, so that no caller can block an answer or a task.
 */
export const CallersKey = IdempotencyKeyText.refine(
  (key) => !Object.values(ownPrefixes).some((prefix) => key.startsWith(prefix)),
  {
    error: `keys that begin with ${Object.values(ownPrefixes).join(' or ')} are reserved for the runtime: choose another`,
  },
);
