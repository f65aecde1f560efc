import type { WebhookId } from '../../schema/ids.ts';
import { type ChangeAccess, changeRecords, writeOf } from '../engine/change-records.ts';
import { findWebhook, type StoredWebhook } from './stored-webhook.ts';

/** Undefined where there is none; what gives undefined leaves it as it is. */
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
