import { z } from 'zod';
import { ApprovalId, RunId, SessionId, WebhookId, WorkspaceId } from './ids.ts';
import { Text } from './json.ts';

/** What a webhook can hear of. */
export const webhookEvents = ['run.ended', 'approval.requested', 'session.changed'] as const;
export const WebhookEvent = z.enum(webhookEvents);
export type WebhookEvent = z.infer<typeof WebhookEvent>;

const At = z.int().nonnegative();

export const Webhook = z
  .strictObject({
    id: WebhookId,
    url: Text.max(2000),
    events: z.array(WebhookEvent),
    createdAt: At,
    disabledAt: At.optional(),
    disabledBecause: Text.max(500).optional(),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof Webhook>;

/** What is sent: ids, types and how things stand, never what somebody or a tool said. */
export const WebhookMessage = z.strictObject({
  type: z.enum([...webhookEvents, 'webhook.test']),
  timestamp: z.iso.datetime(),
  data: z.strictObject({
    workspace: WorkspaceId,
    session: SessionId.optional(),
    run: RunId.optional(),
    approval: ApprovalId.optional(),
    status: Text.max(50).optional(),
    /** Of the event; of `session.changed`, the session's newest. */
    seq: z.int().positive().optional(),
  }),
});
export type WebhookMessage = z.infer<typeof WebhookMessage>;

/** One try of a delivery. `status` is HTTP's. */
export const DeliveryAttempt = z.strictObject({
  at: At,
  durationMs: z.number().nonnegative(),
  status: z.int().optional(),
  /** The beginning of what the receiver said. */
  answer: Text.optional(),
  error: Text.optional(),
});
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>;

export const DeliveryId = Text.regex(/^dlv_[0-9a-z]{26}_[0-9a-f]{12}_[0-9a-f]{16}$/, {
  error: 'expected the id of a delivery, as `deliveries` tells it',
});

export const Delivery = z
  .strictObject({
    id: DeliveryId,
    webhook: WebhookId,
    message: WebhookMessage,
    status: z.enum(['pending', 'delivered', 'failed']),
    createdAt: At,
    /** Since it was last asked for. */
    tries: z.int().nonnegative(),
    attempts: z.array(DeliveryAttempt),
  })
  .meta({ id: 'Delivery' });
export type Delivery = z.infer<typeof Delivery>;
