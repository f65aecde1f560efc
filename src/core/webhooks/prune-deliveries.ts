import type { WebhookId } from '../../schema/ids.ts';
import { Delivery } from '../../schema/webhook.ts';
import type { StoredRecord } from '../ports/records.ts';
import { afterDeliveries, deliveriesFrom, deliveryPrefix, listWebhooks } from './stored-webhook.ts';
import type { WebhookScope } from './webhook-scope.ts';

export const keptMs = 7 * 24 * 3_600_000;
export const keptDeliveries = 1000;
const pageSize = 200;

type Place = Pick<WebhookScope, 'records' | 'workspace'>;

/** The deliveries of a webhook before `before`, newest first. */
export async function* deliveriesOf(
  { records, workspace }: Place,
  webhook: WebhookId,
  before = afterDeliveries(webhook),
): AsyncGenerator<StoredRecord, void, void> {
  for (let after = before; ; ) {
    const page = await records.records(workspace, 'delivery', { limit: pageSize, order: 'descending', after });
    const own = page.filter(({ id }) => id.startsWith(deliveryPrefix(webhook)));
    yield* own;
    if (own.length < pageSize) return;
    after = own.at(-1)!.id;
  }
}

async function* inPages<T>(all: AsyncIterable<T>): AsyncGenerator<readonly T[], void, void> {
  let page: T[] = [];
  for await (const each of all) {
    page.push(each);
    if (page.length < pageSize) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

export const removeDeliveries = async (
  { records, workspace }: Place,
  all: AsyncIterable<StoredRecord>,
): Promise<void> => {
  const remove = (page: readonly StoredRecord[]) =>
    records.writeRecords(
      workspace,
      page.map(({ id, version }) => ({ kind: 'delivery', id, onVersion: version, body: undefined })),
    );
  for await (const page of inPages(all)) {
    // If one delivery of the page changed because it is being sent, removes them one by one.
    if (!(await remove(page))) for (const each of page) await remove([each]);
  }
};

async function* endedOf(all: AsyncIterable<StoredRecord>): AsyncGenerator<StoredRecord, void, void> {
  for await (const record of all) if (Delivery.parse(record.body).status !== 'pending') yield record;
}

/** Removes deliveries that are older than seven days or beyond the newest 1,000. Pending deliveries are kept. */
export const pruneDeliveries = async (scope: Place & Pick<WebhookScope, 'clock'>): Promise<void> => {
  for (const { id } of await listWebhooks(scope.records, scope.workspace)) {
    let before = deliveriesFrom(id, scope.clock.now() - keptMs);
    let count = 0;
    for await (const { id: delivery } of deliveriesOf(scope, id)) {
      if (delivery < before) break;
      count += 1;
      if (count === keptDeliveries) before = delivery;
    }
    await removeDeliveries(scope, endedOf(deliveriesOf(scope, id, before)));
  }
};
