import { jittered } from '../../concurrency/backoff.ts';
import type { WebhookId } from '../../schema/ids.ts';
import { Delivery, type DeliveryAttempt } from '../../schema/webhook.ts';
import type { StoredRecord } from '../ports/records.ts';
import { changeWebhook } from './change-webhook.ts';
import { post } from './post.ts';
import { openSecret, signedHeaders } from './signing-secret.ts';
import { findWebhook, type StoredWebhook } from './stored-webhook.ts';
import type { WebhookScope } from './webhook-scope.ts';
import { writeDelivery } from './write-delivery.ts';

export interface SenderOptions {
  /** The delays between attempts. The number of attempts is one more than the number of delays. */
  readonly retryMs: readonly number[];
  /** How long a claim lasts. After that, another dispatcher may retry an attempt whose result was never recorded. */
  readonly claimMs: number;
}

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export const defaultSenderOptions: SenderOptions = {
  retryMs: [5 * secondMs, 30 * secondMs, 2 * minuteMs, 10 * minuteMs, hourMs, 6 * hourMs, 12 * hourMs],
  claimMs: 30 * secondMs,
};

/** The time of continuous failure after which a webhook is disabled. */
const givesUpMs = 72 * hourMs;
const keptAttempts = 20;
const gone = 410;

const isDelivered = ({ status = 0 }: DeliveryAttempt): boolean => status >= 200 && status < 300;

const problemOf = (status: number): string | undefined => {
  if (status >= 200 && status < 300) return undefined;
  return status >= 300 && status < 400 ? `answered ${status}: redirects are not followed` : `answered ${status}`;
};

const messageOf = (error: unknown): string => {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return (name === 'TimeoutError' ? 'no answer in time' : message).toWellFormed().slice(0, 500);
};

/** Sends one attempt of a delivery. Returns undefined if the request was aborted. */
export const attempt = async (
  { clock, postRules, sealer, secrets }: Pick<WebhookScope, 'clock' | 'postRules' | 'sealer' | 'secrets'>,
  { id: webhook, url, secret }: StoredWebhook,
  { id, message }: Delivery,
  stopping: AbortSignal,
): Promise<DeliveryAttempt | undefined> => {
  const at = clock.now();
  const startedAt = clock.elapsed();
  const took = () => ({ at, durationMs: Math.round(clock.elapsed() - startedAt) });
  const body = JSON.stringify(message);
  try {
    const headers = signedHeaders(await openSecret(sealer, webhook, secret), { id, atMs: at, body });
    const redactor = await secrets.redactor();
    const ending = AbortSignal.any([clock.timeout(postRules.timeoutMs), stopping]);
    const { status, answer: text } = await post(url, { headers, body }, postRules, ending);
    const answer = text && redactor.text(text);
    const error = problemOf(status);
    return { ...took(), status, ...(answer && { answer }), ...(error && { error }) };
  } catch (error) {
    return stopping.aborted ? undefined : { ...took(), error: messageOf(error) };
  }
};

/** Adds an attempt, and drops the oldest ones if there are too many. */
export const withAttempt = (delivery: Delivery, made: DeliveryAttempt): Delivery => ({
  ...delivery,
  status: isDelivered(made) ? 'delivered' : 'failed',
  attempts: [...delivery.attempts, made].slice(-keptAttempts),
});

/**
 * Sends one due delivery. It claims the delivery first, so that no other dispatcher sends it. After a crash the claim
 * expires and another dispatcher takes over.
 */
export class DeliverySender {
  readonly #scope: WebhookScope;
  readonly #options: SenderOptions;
  readonly #stopping: AbortSignal;

  constructor(scope: WebhookScope, options: SenderOptions, stopping: AbortSignal) {
    this.#scope = scope;
    this.#options = options;
    this.#stopping = stopping;
  }

  async send(due: StoredRecord): Promise<void> {
    const { records, workspace, clock } = this.#scope;
    const delivery = Delivery.parse(due.body);
    const found = await findWebhook(records, workspace, delivery.webhook);
    if (!found) {
      await records.writeRecords(workspace, [
        { kind: 'delivery', id: due.id, onVersion: due.version, body: undefined },
      ]);
      return;
    }
    if (found.webhook.disabledAt !== undefined) {
      const late = withAttempt(delivery, { at: clock.now(), durationMs: 0, error: 'the webhook is disabled' });
      await records.writeRecords(workspace, [writeDelivery(late, due.version)]);
      return;
    }
    const claimed = { ...delivery, tries: delivery.tries + 1 };
    const claim = writeDelivery(claimed, due.version, clock.now() + this.#options.claimMs);
    if (!(await records.writeRecords(workspace, [claim]))) return;
    const version = (await records.record(workspace, 'delivery', due.id))?.version ?? 0;
    const made = await attempt(this.#scope, found.webhook, claimed, this.#stopping);
    if (!made) {
      await records.writeRecords(workspace, [writeDelivery(delivery, version, clock.now())]);
      return;
    }
    await this.#keep(claimed, version, made);
    await this.#noteHealth(delivery.webhook, made);
  }

  async #keep(delivery: Delivery, version: number, made: DeliveryAttempt): Promise<void> {
    const { records, workspace, clock, random } = this.#scope;
    const ended = withAttempt(delivery, made);
    const retryMs = made.status === gone ? undefined : this.#options.retryMs[delivery.tries - 1];
    const isOver = ended.status === 'delivered' || retryMs === undefined;
    const next = isOver
      ? writeDelivery(ended, version)
      : writeDelivery(
          { ...ended, status: 'pending' },
          version,
          clock.now() + Math.round(jittered(retryMs, 0.8, random.number)),
        );
    await records.writeRecords(workspace, [next]);
  }

  async #noteHealth(id: WebhookId, made: DeliveryAttempt): Promise<void> {
    const { clock } = this.#scope;
    const { error = '' } = made;
    await changeWebhook(this.#scope, id, ({ failingSince, ...webhook }) => {
      if (isDelivered(made)) return failingSince === undefined ? undefined : webhook;
      const disabled = (disabledBecause: string) => ({ ...webhook, disabledAt: clock.now(), disabledBecause });
      if (made.status === gone) return disabled('it answered 410, which means that it wants no more deliveries');
      if (failingSince === undefined) return { ...webhook, failingSince: made.at };
      if (clock.now() - failingSince < givesUpMs) return undefined;
      return disabled(`every delivery failed for 3 days: ${error}`.slice(0, 500));
    });
  }
}
