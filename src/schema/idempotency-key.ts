import type { ApprovalId } from './ids.ts';
import { Text } from './json.ts';

const ownPrefixes = { approval: 'approval:', call: 'call:' } as const;

export const IdempotencyKeyText = Text.min(1).max(255);

/** Of the one answer that an approval has. */
export const approvalKey = (approval: ApprovalId): string => `${ownPrefixes.approval}${approval}`;

/** Of the one task that a child is given by the call that opened it. */
export const taskKey = (callId: string): string => `${ownPrefixes.call}${callId}`;

/** What callers may take: nobody takes the place of an answer or a task. */
export const CallersKey = IdempotencyKeyText.refine(
  (key) => !Object.values(ownPrefixes).some((prefix) => key.startsWith(prefix)),
  { error: `keys that begin with ${Object.values(ownPrefixes).join(' or ')} are the runtime's own: take another` },
);
