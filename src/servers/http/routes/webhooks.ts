import { z } from 'zod';
import { listOf } from '../../../schema/bounded.ts';
import { WebhookId } from '../../../schema/ids.ts';
import { DeliveryPageView, NewWebhookView } from '../../../schema/views/registry.ts';
import { WatchedPaths } from '../../../schema/watched-paths.ts';
import { Delivery, DeliveryId, Webhook, WebhookEvent } from '../../../schema/webhook.ts';
import { defineRoute } from '../route.ts';
import { limitUpTo, nothing } from './fields.ts';

const ofWebhook = { webhook: WebhookId };
const events = listOf(WebhookEvent, { min: 1, max: 100 });

export const webhookRoutes = [
  defineRoute({
    method: 'GET',
    path: '/v1/webhooks',
    name: 'listWebhooks',
    verb: 'webhooks.list',
    summary: 'The webhooks of the workspace, without their secrets',
    answer: z.strictObject({ webhooks: z.array(Webhook) }),
    handle: async ({ runtime }) => ({ webhooks: await runtime.webhooks.list() }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/webhooks',
    name: 'addWebhook',
    verb: 'webhooks.add',
    summary: 'Adds a webhook; its secret is shown only this once',
    about: 'An Idempotency-Key has no effect here: the secret is not kept for a second answer.',
    body: z.strictObject({ url: Webhook.shape.url, events, watch: WatchedPaths.optional() }),
    keyKeptBy: 'nobody',
    status: 201,
    answer: NewWebhookView,
    handle: ({ runtime, body }) => runtime.webhooks.add(body),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/v1/webhooks/{webhook}',
    name: 'changeWebhook',
    verb: 'webhooks.change',
    summary: 'Changes the address, events or watched paths of a webhook, or disables or enables it',
    params: ofWebhook,
    body: z.strictObject({
      url: Webhook.shape.url.optional(),
      events: events.optional(),
      watch: WatchedPaths.optional(),
      enabled: z.boolean().optional(),
    }),
    answer: Webhook,
    handle: ({ runtime, params, body }) => runtime.webhooks.change(params.webhook, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/webhooks/{webhook}',
    name: 'removeWebhook',
    verb: 'webhooks.remove',
    summary: 'Removes a webhook with its deliveries',
    params: ofWebhook,
    handle: ({ runtime, params }) => runtime.webhooks.remove(params.webhook),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook}/rotate',
    name: 'rotateWebhook',
    verb: 'webhooks.rotate',
    summary: 'Gives the webhook a new secret, which signs all further deliveries',
    params: ofWebhook,
    body: nothing,
    keyKeptBy: 'nobody',
    answer: NewWebhookView,
    handle: ({ runtime, params }) => runtime.webhooks.rotate(params.webhook),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook}/test',
    name: 'testWebhook',
    verb: 'webhooks.test',
    summary: 'Sends a test delivery at once and reports its outcome',
    params: ofWebhook,
    body: nothing,
    answer: Delivery,
    handle: ({ runtime, params }) => runtime.webhooks.test(params.webhook),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/webhooks/{webhook}/deliveries',
    name: 'listDeliveries',
    verb: 'webhooks.deliveries',
    summary: 'The deliveries, newest first, with every attempt',
    params: ofWebhook,
    query: { limit: limitUpTo(1000).optional(), cursor: DeliveryId.optional() },
    answer: DeliveryPageView,
    handle: ({ runtime, params, query }) => runtime.webhooks.deliveries(params.webhook, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/deliveries/{delivery}/redeliver',
    name: 'redeliver',
    verb: 'webhooks.redeliver',
    summary: 'Sends a delivery again, under the same id',
    params: { delivery: DeliveryId },
    body: nothing,
    status: 202,
    answer: Delivery,
    handle: ({ runtime, params }) => runtime.webhooks.redeliver(params.delivery),
  }),
];
