import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { newId, WebhookId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { WatchedPaths } from '../../schema/watched-paths.ts';
import {
  Delivery,
  DeliveryId,
  Webhook,
  type WebhookEvent,
  WebhookEvent as WebhookEventSchema,
} from '../../schema/webhook.ts';
import { markHooked } from '../access/workspaces.ts';
import { writeOf } from '../engine/change-records.ts';
import { refuseSecrets } from '../engine/refuse-secrets.ts';
import { changeWebhook } from './change-webhook.ts';
import { attempt, withAttempt } from './delivery-sender.ts';
import { urlProblem } from './post.ts';
import { deliveriesOf, removeDeliveries } from './prune-deliveries.ts';
import { keepSecret, newSigningSecret } from './signing-secret.ts';
import {
  afterDeliveries,
  deliveryId,
  deliveryPrefix,
  findWebhook,
  infoOf,
  listWebhooks,
  maxWebhooks,
  type StoredWebhook,
} from './stored-webhook.ts';
import type { WebhookScope } from './webhook-scope.ts';
import { writeDelivery } from './write-delivery.ts';

const Events = z
  .array(WebhookEventSchema)
  .min(1)
  .transform((events) => [...new Set(events)]);
const Request = z.strictObject({ url: Webhook.shape.url, events: Events, watch: WatchedPaths.optional() });
const Changes = z.strictObject({
  url: Webhook.shape.url.optional(),
  events: Events.optional(),
  /** The paths that `state.untrusted` covers. */
  watch: WatchedPaths.optional(),
  /** Whether the webhook is enabled. Events that happen while it is disabled are not delivered later. */
  enabled: z.boolean().optional(),
});
const Page = z.strictObject({
  limit: z.int().min(1).max(1000).default(50),
  cursor: DeliveryId.optional(),
});

export type WebhookRequest = z.input<typeof Request>;
export type WebhookChanges = z.input<typeof Changes>;

export interface NewWebhook {
  readonly webhook: Webhook;
  /** `whsec_…`, for checking signatures. It is shown only this once. */
  readonly secret: string;
}

export interface DeliveryPage {
  readonly deliveries: readonly Delivery[];
  /** The cursor of the next page. Absent on the last page. */
  readonly cursor?: string;
}

/** Addresses that receive signed requests about what happens in the workspace. */
export interface Webhooks {
  /** Adds an address that is notified from now on. Only this result contains the signing secret. */
  add(request: WebhookRequest): Promise<NewWebhook>;
  /** All webhooks, oldest first. */
  list(): Promise<readonly Webhook[]>;
  /** Changes the address or the events of a webhook, or enables or disables it. */
  change(id: string, changes: WebhookChanges): Promise<Webhook>;
  /** Removes a webhook and its deliveries. */
  remove(id: string): Promise<void>;
  /** Creates a new secret, which signs all requests from now on. */
  rotate(id: string): Promise<NewWebhook>;
  /** Returns the deliveries of a webhook and their attempts, newest first. */
  deliveries(
    id: string,
    options?: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<DeliveryPage>;
  /** Sends a delivery again, under the same id. */
  redeliver(delivery: string): Promise<Delivery>;
  /** Sends a `webhook.test` immediately, and returns the delivery with its result. */
  test(id: string): Promise<Delivery>;
}

const notFound = (what: string, id: string): PerdureError =>
  new PerdureError('WEBHOOK_NOT_FOUND', `this workspace has no ${what} ${id}`, { details: { id } });

const sinceOf = (
  events: readonly WebhookEvent[],
  now: number,
  before: StoredWebhook['since'] = {},
): StoredWebhook['since'] => Object.fromEntries(events.map((event) => [event, before[event] ?? now]));

const refuseWatch = (watch: readonly string[] | undefined, events: readonly WebhookEvent[]): void => {
  if (watch === undefined || events.includes('state.untrusted')) return;
  throw new PerdureError('INVALID_INPUT', 'watch has no meaning without the event state.untrusted: add it to events');
};

const changed = (
  webhook: StoredWebhook,
  { url, events, watch, enabled }: z.infer<typeof Changes>,
  now: number,
): StoredWebhook => {
  const { disabledAt, disabledBecause, failingSince, ...rest } = webhook;
  const asked = events ?? (Object.keys(webhook.since) as WebhookEvent[]);
  refuseWatch(watch, asked);
  const isDisabled = disabledAt !== undefined;
  const at = { ...rest, url: url ?? webhook.url, ...(watch && { watch }) };
  if (enabled && isDisabled) return { ...at, since: sinceOf(asked, now) };
  const { 'state.untrusted': untrusted, ...others } = webhook.since;
  const since = sinceOf(asked, now, watch ? others : webhook.since);
  if (enabled === false && !isDisabled)
    return { ...at, since, disabledAt: now, disabledBecause: 'a member disabled it' };
  return { ...webhook, ...at, since };
};

export const webhooksOf = (scope: WebhookScope): Webhooks => {
  const { records, workspace, clock, random, postRules, sealer, secrets } = scope;
  const refuseUrl = async (url: string | undefined): Promise<void> => {
    const problem = url === undefined ? undefined : urlProblem(url, postRules);
    if (problem) throw new PerdureError('INVALID_INPUT', `the webhook is not valid: url: ${problem}`);
    await refuseSecrets(secrets, 'the address of the webhook', url);
  };
  const idOf = (id: string): WebhookId => parseInput('the webhook', WebhookId, id);
  const change = async (id: string, next: (webhook: StoredWebhook) => StoredWebhook): Promise<StoredWebhook> => {
    const webhook = await changeWebhook(scope, idOf(id), next);
    if (!webhook) throw notFound('webhook', id);
    return webhook;
  };
  return {
    add: async (request) => {
      const { url, events, watch } = parseInput('the webhook', Request, request);
      refuseWatch(watch, events);
      await refuseUrl(url);
      if ((await listWebhooks(records, workspace)).length >= maxWebhooks) {
        throw new PerdureError(
          'INVALID_INPUT',
          `this workspace already has ${maxWebhooks} webhooks, the maximum: remove one first`,
        );
      }
      const secret = newSigningSecret();
      const now = clock.now();
      const id = newId('whk', now);
      const kept = {
        id,
        url,
        since: sinceOf(events, now),
        ...(watch && { watch }),
        secret: await keepSecret(sealer, id, secret),
        createdAt: now,
      };
      await markHooked(records, workspace);
      await records.writeRecords(workspace, [writeOf('webhook', kept, 0)]);
      return { webhook: infoOf(kept), secret };
    },
    list: async () => (await listWebhooks(records, workspace)).map(infoOf),
    change: async (id, asked) => {
      const changes = parseInput('the changes', Changes, asked);
      await refuseUrl(changes.url);
      return infoOf(await change(id, (webhook) => changed(webhook, changes, clock.now())));
    },
    remove: async (id) => {
      const found = await findWebhook(records, workspace, idOf(id));
      if (!found) throw notFound('webhook', id);
      const { version, webhook } = found;
      const gone = { kind: 'webhook', id: webhook.id, onVersion: version, body: undefined } as const;
      if (!(await records.writeRecords(workspace, [gone]))) {
        throw new PerdureError('CONFLICT', `another caller changed ${id} at the same time: try again`);
      }
      await removeDeliveries(scope, deliveriesOf(scope, webhook.id));
    },
    rotate: async (id) => {
      const secret = newSigningSecret();
      const kept = await keepSecret(sealer, idOf(id), secret);
      return { webhook: infoOf(await change(id, (webhook) => ({ ...webhook, secret: kept }))), secret };
    },
    deliveries: async (id, options = {}) => {
      const { limit, cursor } = parseInput('the query', Page, options);
      const webhook = idOf(id);
      if (!(await findWebhook(records, workspace, webhook))) throw notFound('webhook', id);
      const after = cursor ?? afterDeliveries(webhook);
      const query = { limit: limit + 1, order: 'descending', after } as const;
      const found = (await records.records(workspace, 'delivery', query)).filter((each) =>
        each.id.startsWith(deliveryPrefix(webhook)),
      );
      const deliveries = found.slice(0, limit).map(({ body }) => Delivery.parse(body));
      return { deliveries, ...(found.length > limit && { cursor: deliveries.at(-1)!.id }) };
    },
    redeliver: async (id) => {
      const found = await records.record(workspace, 'delivery', parseInput('the delivery', DeliveryId, id));
      if (!found) throw notFound('delivery', id);
      const delivery = Delivery.parse(found.body);
      const webhook = (await findWebhook(records, workspace, delivery.webhook))?.webhook;
      if (!webhook) throw notFound('webhook', delivery.webhook);
      if (webhook.disabledAt !== undefined) {
        throw new PerdureError('INVALID_INPUT', `${webhook.id} is disabled: enable it first`);
      }
      const again: Delivery = { ...delivery, status: 'pending', tries: 0 };
      if (await records.writeRecords(workspace, [writeDelivery(again, found.version, clock.now())])) return again;
      throw new PerdureError('CONFLICT', `${id} is being sent at the moment: check it again later`);
    },
    test: async (id) => {
      const found = await findWebhook(records, workspace, idOf(id));
      if (!found) throw notFound('webhook', id);
      const { webhook } = found;
      const now = clock.now();
      const asked: Delivery = {
        id: deliveryId(webhook.id, now, Buffer.from(random.bytes(16)).toString('hex')),
        webhook: webhook.id,
        message: { type: 'webhook.test', timestamp: new Date(now).toISOString(), data: { workspace } },
        status: 'failed',
        createdAt: now,
        tries: 1,
        attempts: [],
      };
      const made = await attempt(scope, webhook, asked, scope.closing);
      if (!made) throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed: test again');
      const ended = withAttempt(asked, made);
      await records.writeRecords(workspace, [writeDelivery(ended, 0)]);
      return ended;
    },
  };
};
