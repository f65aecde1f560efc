import { isPerdureError } from '../../schema/error.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { usuallyWatched } from '../../schema/watched-paths.ts';
import type { Delivery, WebhookEvent, WebhookMessage } from '../../schema/webhook.ts';
import type { StoredEvent } from '../ports/store.ts';
import { decodePayload } from '../session/events/event-codec.ts';
import { type UntrustedPath, untrustedPaths, watchedPart } from '../session/state/untrusted-paths.ts';
import { deliveryId, type StoredWebhook } from './stored-webhook.ts';

/** Something that happened and that webhooks can be notified of. */
export interface Occurrence {
  readonly type: WebhookEvent;
  readonly session: SessionId;
  readonly seq: number;
  readonly at: number;
  readonly details?: Omit<WebhookMessage['data'], 'workspace' | 'session' | 'seq'>;
  /** For `state.untrusted`: what the commit touched, of which each webhook watches a part. */
  readonly untrusted?: readonly UntrustedPath[];
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

/** Ids that a model or a provider chose. Other forms are left out, because they could carry text. */
const plainId = /^[\w.:-]{1,100}$/;
const plainCode = /^[A-Z][A-Z0-9_]{0,99}$/;

type Found = Required<Pick<Occurrence, 'type' | 'details'>> & Pick<Occurrence, 'untrusted'>;

const foundIn = (event: StoredEvent): readonly Found[] => {
  const { run } = event;
  switch (event.type) {
    case 'run.ended': {
      const { status, code } = readable(() => {
        const end = decodePayload(event, 'run.ended');
        return { status: end.status, code: end.status === 'failed' ? end.error.code : undefined };
      });
      const shown = code && plainCode.test(code) ? { code } : {};
      const failed: readonly Found[] =
        status === 'failed' ? [{ type: 'run.failed', details: { run, status, ...shown } }] : [];
      return [{ type: event.type, details: { run, status } }, ...failed];
    }
    case 'approval.requested': {
      const { approval, taintedBy } = readable(() => decodePayload(event, 'approval.requested'));
      const tools = taintedBy?.sources.map(({ tool }) => tool).filter((tool) => plainId.test(tool));
      return [{ type: event.type, details: { run, approval, ...(tools && { taintedBy: tools }) } }];
    }
    case 'question.asked': {
      const { callId = '' } = readable(() => decodePayload(event, 'question.asked'));
      return [{ type: event.type, details: { run, ...(plainId.test(callId) && { call: callId }) } }];
    }
    case 'run.waiting': {
      const { for: awaited, session } = readable(() => decodePayload(event, 'run.waiting'));
      // A run that waits for a subagent with this reason is reported for the subagent's session.
      return awaited === 'budget' && session === undefined ? [{ type: 'budget.waiting', details: { run } }] : [];
    }
    case 'session.handed': {
      const { to: holder, member, role, replay } = readable(() => decodePayload(event, 'session.handed'));
      return replay ? [] : [{ type: event.type, details: { run, holder, member, role } }];
    }
    case 'state.committed': {
      const { untrusted = [] } = readable(() => ({
        untrusted: untrustedPaths(decodePayload(event, 'state.committed')),
      }));
      return untrusted.length > 0 ? [{ type: 'state.untrusted', details: { run }, untrusted }] : [];
    }
    default:
      return [];
  }
};

/** Returns the occurrences in an event. Most event types have none, because webhooks are not notified of them. */
export const occurrencesOf = (event: StoredEvent): readonly Occurrence[] => {
  const { session, seq, at } = event;
  return foundIn(event).map((found) => ({ ...found, session, seq, at }));
};

const isWanted = ({ disabledAt, since }: StoredWebhook, { type, at }: Occurrence): boolean =>
  disabledAt === undefined && (since[type] ?? Number.POSITIVE_INFINITY) <= at;

/** The details of an occurrence for a webhook. Undefined if the webhook watches nothing of it. */
const detailsFor = ({ watch }: StoredWebhook, { details, untrusted }: Occurrence) => {
  if (!untrusted) return { ...details };
  const part = watchedPart(untrusted, watch ?? usuallyWatched);
  return part && { ...details, ...part };
};

export const deliveriesFor = (
  workspace: WorkspaceId,
  webhooks: readonly StoredWebhook[],
  occurrences: readonly Occurrence[],
  now: number,
): readonly Delivery[] =>
  webhooks.flatMap((webhook) =>
    occurrences.flatMap((occurrence): readonly Delivery[] => {
      const { type, session, seq, at } = occurrence;
      const details = isWanted(webhook, occurrence) ? detailsFor(webhook, occurrence) : undefined;
      if (!details) return [];
      const id = deliveryId(webhook.id, at, `${session}/${seq}/${type}`);
      const timestamp = new Date(at).toISOString();
      const message = { type, timestamp, data: { workspace, session, ...details, seq } };
      return [{ id, webhook: webhook.id, message, status: 'pending', createdAt: now, tries: 0, attempts: [] }];
    }),
  );
