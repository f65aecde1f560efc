import { z } from 'zod';
import { HolderRole } from './handoff.ts';
import { ApprovalId, MemberId, RunId, SessionId, WebhookId, WorkspaceId } from './ids.ts';
import { Text } from './json.ts';
import { Holder } from './lifecycle.ts';
import { Provenance } from './state.ts';
import { WatchedPaths } from './watched-paths.ts';

/** The event types that a webhook can subscribe to. */
export const webhookEvents = [
  'run.ended',
  'run.failed',
  'approval.requested',
  'question.asked',
  'budget.waiting',
  'session.handed',
  'state.untrusted',
  'session.changed',
] as const;
export const WebhookEvent = z.enum(webhookEvents);
export type WebhookEvent = z.infer<typeof WebhookEvent>;

const At = z.int().nonnegative();

export const Webhook = z
  .strictObject({
    id: WebhookId,
    url: Text.max(2000),
    events: z.array(WebhookEvent),
    /** For `state.untrusted`: the paths that it covers. By default facts and decisions. */
    watch: WatchedPaths.optional(),
    createdAt: At,
    disabledAt: At.optional(),
    disabledBecause: Text.max(500).optional(),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof Webhook>;

/** The body of a delivery. It holds ids, types and statuses, never text of a person, a model or a tool. */
export const WebhookMessage = z.strictObject({
  type: z.enum([...webhookEvents, 'webhook.test']),
  timestamp: z.iso.datetime(),
  data: z.strictObject({
    workspace: WorkspaceId,
    session: SessionId.optional(),
    run: RunId.optional(),
    approval: ApprovalId.optional(),
    /** For `approval.requested`: the tools with plain names that brought data from outside into the context. */
    taintedBy: z.array(Text.max(200)).optional(),
    status: Text.max(50).optional(),
    /** For `run.failed`: why, as a code of the catalogue. */
    code: Text.max(100).optional(),
    /** For `question.asked`: the call to answer. Absent if its id is not a plain id. */
    call: Text.max(100).optional(),
    /** For `session.handed`: the new holder, and the member or the role that it is limited to. */
    holder: Holder.optional(),
    member: MemberId.optional(),
    role: HolderRole.optional(),
    /** For `state.untrusted`: the lowest provenance of the watched paths that the commit touched, and their number. */
    provenance: Provenance.optional(),
    paths: z.int().positive().optional(),
    /** The seq of the event. For `session.changed`, the head of the session. */
    seq: z.int().positive().optional(),
  }),
});
export type WebhookMessage = z.infer<typeof WebhookMessage>;

/** One attempt at a delivery. `status` is the HTTP status. */
export const DeliveryAttempt = z.strictObject({
  at: At,
  durationMs: z.number().nonnegative(),
  status: z.int().optional(),
  /** The beginning of the response body. */
  answer: Text.optional(),
  error: Text.optional(),
});
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>;

export const DeliveryId = Text.regex(/^dlv_[0-9a-z]{26}_[0-9a-f]{12}_[0-9a-f]{16}$/, {
  error: 'expected the id of a delivery, as `deliveries` lists it',
});

export const Delivery = z
  .strictObject({
    id: DeliveryId,
    webhook: WebhookId,
    message: WebhookMessage,
    status: z.enum(['pending', 'delivered', 'failed']),
    createdAt: At,
    /** The number of attempts since the delivery was created or last sent again on request. */
    tries: z.int().nonnegative(),
    attempts: z.array(DeliveryAttempt),
  })
  .meta({ id: 'Delivery' });
export type Delivery = z.infer<typeof Delivery>;
