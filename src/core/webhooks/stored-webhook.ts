import { hash } from 'node:crypto';
import { z } from 'zod';
import type { WebhookId, WorkspaceId } from '../../schema/ids.ts';
import { Webhook, type WebhookEvent, WebhookEvent as WebhookEventSchema } from '../../schema/webhook.ts';
import type { Records } from '../ports/records.ts';
import { KeptSecret } from './signing-secret.ts';

/** A webhook in its stored form. */
export const StoredWebhook = Webhook.omit({ events: true }).extend({
  /** For each event type, the time from which events are delivered. */
  since: z.partialRecord(WebhookEventSchema, z.int()),
  secret: KeptSecret,
  /** The time since which every delivery has failed. */
  failingSince: z.int().optional(),
});
export type StoredWebhook = z.infer<typeof StoredWebhook>;

export const maxWebhooks = 50;

export const infoOf = ({ since, secret: _, failingSince: __, ...webhook }: StoredWebhook): Webhook => ({
  ...webhook,
  events: Object.keys(since) as WebhookEvent[],
});

export interface KeptWebhook {
  readonly webhook: StoredWebhook;
  readonly version: number;
}

export const findWebhook = async (
  records: Records,
  workspace: WorkspaceId,
  id: WebhookId,
): Promise<KeptWebhook | undefined> => {
  const found = await records.record(workspace, 'webhook', id);
  return found && { webhook: StoredWebhook.parse(found.body), version: found.version };
};

/** Returns all webhooks of a workspace, oldest first. */
export const listWebhooks = async (records: Records, workspace: WorkspaceId): Promise<readonly StoredWebhook[]> =>
  (await records.records(workspace, 'webhook', { limit: maxWebhooks })).map(({ body }) => StoredWebhook.parse(body));

/** The prefix of a webhook's delivery ids. The ids sort by the time of the occurrence. */
export const deliveryPrefix = (webhook: WebhookId): string => `${webhook.replace('whk_', 'dlv_')}_`;
/** A text that sorts after every delivery id of the webhook. */
export const afterDeliveries = (webhook: WebhookId): string => `${deliveryPrefix(webhook)}~`;
const timeText = (atMs: number): string => atMs.toString(16).padStart(12, '0');
/** A text that sorts before every delivery id of the webhook from that time on. */
export const deliveriesFrom = (webhook: WebhookId, atMs: number): string =>
  `${deliveryPrefix(webhook)}${timeText(Math.max(0, atMs))}`;

/**
 * Returns the id of a delivery. It is deterministic, so that two dispatchers that see the same occurrence create the
 * same delivery.
 */
export const deliveryId = (webhook: WebhookId, atMs: number, what: string): string =>
  `${deliveriesFrom(webhook, atMs)}_${hash('sha256', what, 'hex').slice(0, 16)}`;
