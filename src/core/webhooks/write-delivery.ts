import type { Delivery } from '../../schema/webhook.ts';
import { writeOf } from '../engine/change-records.ts';
import type { RecordWrite } from '../ports/records.ts';

/** Returns the write of a delivery. Only a pending delivery has a due time. */
export const writeDelivery = (delivery: Delivery, onVersion: number, dueAt?: number): RecordWrite => ({
  ...writeOf('delivery', delivery, onVersion),
  ...(delivery.status === 'pending' && { dueAt }),
});
