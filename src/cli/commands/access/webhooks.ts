import { z } from 'zod';
import type { NewWebhook } from '../../../core/webhooks/webhooks.ts';
import { WebhookId } from '../../../schema/ids.ts';
import { DeliveryPageView, NewWebhookView } from '../../../schema/views/registry.ts';
import { Delivery, DeliveryId, Webhook, webhookEvents } from '../../../schema/webhook.ts';
import { findId, type Named } from '../../names/find-id.ts';
import { type Command, type Context, choicesOf, defineCommand, text, texts } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { listings } from '../../render/listings.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, isoTime } from '../../render/time.ts';
import { wrap } from '../../terminal/display-width.ts';
import { printableLine } from '../../terminal/printable.ts';

const webhookColumns: readonly Column[] = [
  { title: 'WEBHOOK', shortens: 3 },
  { title: 'STATE' },
  { title: 'EVENTS', leaves: 2 },
  { title: 'AGE', align: 'right', leaves: 1 },
  { title: 'URL', flexible: true, whole: true },
];
const deliveryColumns: readonly Column[] = [
  { title: 'DELIVERY' },
  { title: 'TIME', align: 'right' },
  { title: 'STATUS' },
  { title: 'TYPE', leaves: 3 },
  { title: 'TRIES', align: 'right', leaves: 1 },
  { title: 'LAST', flexible: true, leaves: 2 },
];

const table = (columns: readonly Column[], rows: readonly (readonly string[])[], { out }: Context) =>
  layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));

const webhookTable = (webhooks: readonly Webhook[], context: Context): readonly string[] => {
  const now = context.now();
  const rows = webhooks.map(({ id, url, events, createdAt, disabledAt }) => [
    id,
    disabledAt === undefined ? 'enabled' : 'disabled',
    events.join(','),
    age(createdAt, now),
    printableLine(url),
  ]);
  const reasons = webhooks.flatMap(({ id, disabledBecause }) =>
    disabledBecause === undefined
      ? []
      : wrap(`${id} is disabled: ${printableLine(disabledBecause)}`, context.out.columns),
  );
  return [...table(webhookColumns, rows, context), ...reasons];
};

const lastOf = ({ attempts }: Delivery): string => {
  const last = attempts.at(-1);
  return last === undefined ? '' : (last.error ?? `answered ${last.status}`);
};

/**
 * Number of characters shown from the end of a delivery id. Commands accept this part; the whole id would fill the
 * line.
 */
const endOfDelivery = 16;

const deliveryTable = (deliveries: readonly Delivery[], context: Context): readonly string[] => {
  const now = context.now();
  const time = context.out.isTerminal ? (at: number) => age(at, now) : isoTime;
  const rows = deliveries.map((delivery) => [
    context.out.isTerminal ? delivery.id.slice(-endOfDelivery) : delivery.id,
    time(delivery.createdAt),
    delivery.status,
    delivery.message.type,
    String(delivery.attempts.length),
    printableLine(lastOf(delivery)),
  ]);
  return table(deliveryColumns, rows, context);
};

const findWebhook = (context: Context, named: string): Promise<WebhookId> =>
  findId(
    {
      noun: 'webhook',
      prefix: 'whk_',
      isWhole: (text) => WebhookId.safeParse(text).success,
      notFound: 'WEBHOOK_NOT_FOUND',
      listing: 'perdure webhooks ls',
      among: () => listings.webhooks(context),
    },
    named,
  );

async function* newestDeliveries(context: Context): AsyncGenerator<Named, void, void> {
  const { webhooks } = await context.runtime();
  for (const { id } of await webhooks.list()) {
    const { deliveries } = await webhooks.deliveries(id, { limit: 1000 });
    for (const delivery of deliveries) yield { id: delivery.id, about: delivery.message.type };
  }
}

const findDelivery = (context: Context, named: string): Promise<string> =>
  findId(
    {
      noun: 'delivery',
      prefix: 'dlv_',
      isWhole: (text) => DeliveryId.safeParse(text).success,
      notFound: 'WEBHOOK_NOT_FOUND',
      listing: 'perdure webhooks deliveries WEBHOOK',
      among: () => newestDeliveries(context),
    },
    named,
  );

const shown = ({ id, disabledAt }: Webhook): string => `${id} is ${disabledAt === undefined ? 'enabled' : 'disabled'}`;

const showSecret = async (context: Context, made: NewWebhook, note: string): Promise<void> => {
  await context.answer(made, () => [made.secret]);
  await context.note(`${made.webhook.id} ${note}: it is shown only once.`);
};

const switching = (name: 'enable' | 'disable', summary: string): Command =>
  defineCommand({
    name: `webhooks ${name}`,
    summary,
    args: ['WEBHOOK'],
    options: {},
    examples: [`perdure webhooks ${name} whk_…`],
    json: Webhook,
    run: async (context, { args: [id] }) => {
      const webhook = await (await context.runtime()).webhooks.change(await findWebhook(context, id!), {
        enabled: name === 'enable',
      });
      await context.answer(webhook, () => shown(webhook));
      return undefined;
    },
  });

export const webhookCommands: readonly Command[] = [
  defineCommand({
    name: 'webhooks add',
    summary: 'tell an address what happens in the workspace from now on, and show its secret once',
    args: ['URL'],
    options: {
      event: choicesOf('EVENT', webhookEvents, `${webhookEvents.join(', ')}; default all`),
      watch: texts('PATTERN', 'paths that state.untrusted covers; default /facts/** and /decisions/**'),
    },
    notes: [
      'A dispatcher sends them, such as the one in `perdure serve`. Requests are signed as Standard Webhooks asks.',
      'Private addresses and http need PERDURE_OUTBOUND_ALLOW_PRIVATE=1, here and where the dispatcher runs.',
    ],
    examples: [
      'perdure webhooks add https://example.org/hooks --event run.ended',
      `perdure webhooks add https://example.org/hooks --event state.untrusted --watch '/own/**'`,
    ],
    makesStore: true,
    json: NewWebhookView,
    run: async (context, { args: [url], options: { event, watch } }) => {
      const events = [...(event ?? webhookEvents)];
      const made = await (await context.runtime()).webhooks.add({ url: url!, events, watch: watch && [...watch] });
      await showSecret(context, made, 'is added. This is its secret');
      return undefined;
    },
  }),
  defineCommand({
    name: 'webhooks ls',
    summary: 'list the webhooks of the workspace, oldest first',
    args: [],
    options: {},
    examples: ['perdure webhooks ls'],
    json: z.strictObject({ webhooks: z.array(Webhook) }),
    run: async (context) => {
      const all = await (await context.runtime()).webhooks.list();
      await context.answer({ webhooks: all }, () =>
        all.length > 0 ? webhookTable(all, context) : 'no webhooks yet: `perdure webhooks add` makes one',
      );
      return undefined;
    },
  }),
  defineCommand({
    name: 'webhooks set',
    summary: 'give a webhook another address, other events or other watched paths',
    args: ['WEBHOOK'],
    options: {
      url: text('URL', 'the new address'),
      event: choicesOf('EVENT', webhookEvents, `${webhookEvents.join(', ')}; replaces those before`),
      watch: texts('PATTERN', 'paths that state.untrusted covers; replaces those before'),
    },
    examples: ['perdure webhooks set whk_… --url https://example.org/new --event run.ended'],
    json: Webhook,
    run: async (context, { args: [id], options: { url, event, watch } }) => {
      const changes = { url, events: event && [...event], watch: watch && [...watch] };
      if (Object.values(changes).every((value) => value === undefined))
        throw wrongCall('webhooks set needs --url, --event or --watch');
      const webhook = await (await context.runtime()).webhooks.change(await findWebhook(context, id!), changes);
      await context.answer(webhook, () => shown(webhook));
      return undefined;
    },
  }),
  switching('enable', 'turn a webhook back on, from now on'),
  switching('disable', 'turn a webhook off, but keep it'),
  defineCommand({
    name: 'webhooks rotate',
    summary: 'give a webhook a new secret, and show it once',
    args: ['WEBHOOK'],
    options: {},
    notes: ['Everything sent from now on is signed with it.'],
    examples: ['perdure webhooks rotate whk_…'],
    json: NewWebhookView,
    run: async (context, { args: [id] }) => {
      const made = await (await context.runtime()).webhooks.rotate(await findWebhook(context, id!));
      await showSecret(context, made, 'signs with a new secret');
      return undefined;
    },
  }),
  defineCommand({
    name: 'webhooks redeliver',
    summary: 'send a delivery again, under the same id',
    args: ['DELIVERY'],
    options: {},
    notes: [
      'A dispatcher sends it, such as the one in `perdure serve`; `perdure webhooks deliveries` shows how it went.',
    ],
    examples: ['perdure webhooks redeliver dlv_…'],
    json: Delivery,
    run: async (context, { args: [id] }) => {
      const delivery = await (await context.runtime()).webhooks.redeliver(await findDelivery(context, id!));
      await context.answer(delivery, () => `${delivery.id} will be sent again`);
      return undefined;
    },
  }),
  defineCommand({
    name: 'webhooks rm',
    summary: 'remove a webhook with its deliveries',
    args: ['WEBHOOK'],
    options: {},
    examples: ['perdure webhooks rm whk_…'],
    json: z.strictObject({ removed: WebhookId }),
    run: async (context, { args: [id] }) => {
      const webhook = await findWebhook(context, id!);
      await (await context.runtime()).webhooks.remove(webhook);
      await context.answer({ removed: webhook }, () => `${webhook} is removed`);
      return undefined;
    },
  }),
  defineCommand({
    name: 'webhooks deliveries',
    summary: 'list what a webhook was sent and how it went, newest first',
    args: ['WEBHOOK'],
    options: {
      limit: text('N', 'at most N; default 50'),
      cursor: text('CURSOR', 'continue from this cursor, given by an earlier --json answer'),
    },
    examples: ['perdure webhooks deliveries whk_…', 'perdure webhooks deliveries whk_… --json'],
    json: DeliveryPageView,
    run: async (context, { args: [id], options: { limit, cursor } }) => {
      const { webhooks } = await context.runtime();
      const page = await webhooks.deliveries(await findWebhook(context, id!), {
        limit: parseCount('--limit', limit, 1),
        cursor,
      });
      await context.answer(page, () =>
        page.deliveries.length > 0 ? deliveryTable(page.deliveries, context) : 'nothing has been sent yet',
      );
      if (page.cursor) {
        const next = context.commandText('webhooks', 'deliveries', id!, '--cursor', page.cursor);
        await context.note(`there are more: ${next}`);
      }
      return undefined;
    },
  }),
  defineCommand({
    name: 'webhooks test',
    summary: 'send a webhook.test at once, and show how it went',
    args: ['WEBHOOK'],
    options: {},
    examples: ['perdure webhooks test whk_…'],
    json: Delivery,
    run: async (context, { args: [id] }) => {
      const delivery = await (await context.runtime()).webhooks.test(await findWebhook(context, id!));
      const { durationMs = 0 } = delivery.attempts.at(-1) ?? {};
      await context.answer(
        delivery,
        () => `${delivery.status}: ${printableLine(lastOf(delivery))}, after ${durationMs} ms`,
      );
      return delivery.status === 'delivered' ? undefined : 'failure';
    },
  }),
];
