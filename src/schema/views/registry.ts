import { z } from 'zod';
import { AuditEntry } from '../audit-entry.ts';
import { WorkspaceId } from '../ids.ts';
import { KeyInfo } from '../key-info.ts';
import { Delivery, Webhook } from '../webhook.ts';

export const NewKeyView = z.strictObject({
  key: KeyInfo,
  token: z.string().meta({ description: 'Shown this once.' }),
});
export const AuditPageView = z.strictObject({ entries: z.array(AuditEntry), cursor: z.string().optional() });

export const NewWebhookView = z.strictObject({
  webhook: Webhook,
  secret: z.string().meta({ description: 'To check signatures with; shown this once.' }),
});
export const DeliveryPageView = z.strictObject({ deliveries: z.array(Delivery), cursor: z.string().optional() });

export const WorkspaceView = z.strictObject({ id: WorkspaceId, addedAt: z.int() });
/** The number of secrets that were encrypted again under the new key. */
export const ResealedView = z.strictObject({ secrets: z.int() });
