import type { WebhookId } from '../../schema/ids.ts';
import { changeRecords, writeOf } from '../engine/change-records.ts';
import { findWebhook, type StoredWebhook } from './stored-webhook.ts';
import type { WebhookScope } from './webhook-scope.ts';

/**
 * Changes a webhook. `next` returns undefined to leave it unchanged. Returns undefined if the webhook does not exist.
 */
export const changeWebhook = (
  { records, workspace }: Pick<WebhookScope, 'records' | 'workspace'>,
  id: WebhookId,
  next: (webhook: StoredWebhook) => StoredWebhook | undefined,
): Promise<StoredWebhook | undefined> =>
  changeRecords(records, workspace, async () => {
    const found = await findWebhook(records, workspace, id);
    const changed = found && next(found.webhook);
    return {
      writes: changed ? [writeOf('webhook', changed, found.version)] : [],
      result: changed ?? found?.webhook,
    };
  });
