import type { ApprovalId } from './ids.ts';
import { Text } from './json.ts';

const ownPrefix = 'approval:';

export const IdempotencyKeyText = Text.min(1).max(255);

/** Of the one answer that an approval has. */
export const approvalKey = (approval: ApprovalId): string => `${ownPrefix}${approval}`;

/** What callers may take: nobody takes the place of an answer. */
export const CallersKey = IdempotencyKeyText.refine((key) => !key.startsWith(ownPrefix), {
  error: `keys that begin with ${ownPrefix} are the runtime's own: take another`,
});
