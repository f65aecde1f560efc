import { isPerdureError } from '../../schema/error.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Delivery, WebhookEvent, WebhookMessage } from '../../schema/webhook.ts';
import type { StoredEvent } from '../ports/store.ts';
import { decodePayload } from '../session/events/event-codec.ts';
import { deliveryId, type StoredWebhook } from './stored-webhook.ts';

/** Something that happened and that webhooks can be notified of. */
export interface Occurrence {
  readonly type: WebhookEvent;
  readonly session: SessionId;
  readonly seq: number;
  readonly at: number;
  readonly details?: Pick<WebhookMessage['data'], 'run' | 'approval' | 'status'>;
}

/** Returns the details of a payload, or no details if the event is damaged. The event is delivered in both cases. */
const readable = <T>(read: () => T): Partial<T> => {
  try {
    return read();
  } catch (error) {
    if (isPerdureError(error)) return {};
    throw error;
  }
};

/** Returns the occurrence for an event. Returns undefined for event types that webhooks are not notified of. */
export const occurrenceOf = (event: StoredEvent): Occurrence | undefined => {
  const { session, seq, at, run } = event;
  if (event.type === 'run.ended') {
    const { status } = readable(() => decodePayload(event, 'run.ended'));
    return { type: event.type, session, seq, at, details: { run, status } };
  }
  if (event.type === 'approval.requested') {
    const { approval } = readable(() => decodePayload(event, 'approval.requested'));
    return { type: event.type, session, seq, at, details: { run, approval } };
  }
  return undefined;
};

const isWanted = ({ disabledAt, since }: StoredWebhook, { type, at }: Occurrence): boolean =>
  disabledAt === undefined && (since[type] ?? Number.POSITIVE_INFINITY) <= at;

export const deliveriesFor = (
  workspace: WorkspaceId,
  webhooks: readonly StoredWebhook[],
  occurrences: readonly Occurrence[],
  now: number,
): readonly Delivery[] =>
  webhooks.flatMap((webhook) =>
    occurrences
      .filter((occurrence) => isWanted(webhook, occurrence))
      .map(({ type, session, seq, at, details }) => ({
        id: deliveryId(webhook.id, at, `${session}/${seq}/${type}`),
        webhook: webhook.id,
        message: { type, timestamp: new Date(at).toISOString(), data: { workspace, session, ...details, seq } },
        status: 'pending' as const,
        createdAt: now,
        tries: 0,
        attempts: [],
      })),
  );
