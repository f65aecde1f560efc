import { hash } from 'node:crypto';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { IdempotencyKey, SessionKey, Store } from '../ports/store.ts';
import { decodeEvent, decodeJson, encodeJson } from '../session/events/event-codec.ts';
import { canonical } from '../session/events/input-hash.ts';
import { keyReused } from './append-refusal.ts';

/** A key belongs to one member: the same key from another member is a different key. */
export const idempotencyKeyFor = (key: string, by: Actor, body: unknown): IdempotencyKey => ({
  key,
  bodyHash: hash('sha256', encodeJson(canonical(decodeJson(encodeJson({ by, body: body ?? null })))), 'hex'),
});

const keyWithoutEvents = (key: SessionKey, seq: number): PerdureError =>
  new PerdureError(
    'EVENT_DAMAGED',
    `event ${seq} of ${key.session}, which this idempotency key refers to, is missing; run \`perdure verify ${key.session}\``,
    {
      details: { ...key, seq },
    },
  );

/** The events that an earlier append wrote under a key. */
export const earlierEvents = async (
  store: Store,
  key: SessionKey,
  { seq, count }: { readonly seq: number; readonly count: number },
): Promise<readonly SessionEvent[]> => {
  const stored = await store.read(key, { after: seq - 1, upTo: seq + count - 1, limit: count });
  if (stored.length < count) throw keyWithoutEvents(key, seq);
  return stored.map((event) => decodeEvent(key.workspace, event));
};

/** The events to return for a repeated key, whatever happened to the session since. Undefined if the key is new. */
export const earlierAnswer = async (
  store: Store,
  key: SessionKey,
  wanted: IdempotencyKey | undefined,
): Promise<readonly SessionEvent[] | undefined> => {
  if (!wanted) return undefined;
  const used = (await store.keys(key, wanted.key)).find((each) => each.key === wanted.key);
  if (used && used.bodyHash !== wanted.bodyHash) throw keyReused(key);
  return used && earlierEvents(store, key, used);
};
