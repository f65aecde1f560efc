import type { WebhookId } from '../../schema/ids.ts';
import { type ChangeAccess, changeRecords, writeOf } from '../engine/change-records.ts';
import { findWebhook, type StoredWebhook } from './stored-webhook.ts';

/**
 * Changes a webhook. `next` returns undefined to leave it unchanged. Returns undefined if the webhook does not exist.
 */
export const changeWebhook = (
  scope: ChangeAccess,
  id: WebhookId,
  next: (webhook: StoredWebhook) => StoredWebhook | undefined,
): Promise<StoredWebhook | undefined> =>
  changeRecords(scope, async () => {
    const found = await findWebhook(scope.records, scope.workspace, id);
    const changed = found && next(found.webhook);
    return {
      writes: changed ? [writeOf('webhook', changed, found.version)] : [],
      result: changed ?? found?.webhook,
    };
  });
