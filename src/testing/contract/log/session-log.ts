import { expect } from 'vitest';
import type {
  Appended,
  AppendOutcome,
  AppendRequest,
  Head,
  NewEvent,
  SessionKey,
  Store,
  StoredEvent,
} from '../../../core/ports/store.ts';
import { genesisHash, linkProblem } from '../../../core/session/events/chain.ts';
import { summarize } from '../../../core/session/summary.ts';
import { forked, opened } from './new-events.ts';

type Events = readonly [NewEvent, ...NewEvent[]];
type Options = Partial<Omit<AppendRequest, 'events' | 'workspace' | 'session'>>;

export const outside = { kind: 'outside' } as const;

/** Appends a fact as an outside writer, unless the options say otherwise. */
export const append = (store: Store, key: SessionKey, events: Events, options: Options = {}): Promise<AppendOutcome> =>
  store.append({ workspace: key.workspace, session: key.session, writer: outside, at: 1_000, events, ...options });

export const mustAppend = async (
  store: Store,
  key: SessionKey,
  events: Events,
  options: Options = {},
): Promise<Appended> => {
  const outcome = await append(store, key, events, options);
  if (outcome.outcome !== 'appended') throw new Error(`expected the append to land, got ${JSON.stringify(outcome)}`);
  return outcome;
};

export const openSession = (store: Store, key: SessionKey, options: Options = {}): Promise<Appended> =>
  mustAppend(store, key, [opened()], { creates: {}, ...options });

export const forkSession = (
  store: Store,
  parent: SessionKey,
  seq: number,
  child: SessionKey,
  options: Options & { about?: Parameters<typeof forked>[2] } = {},
): Promise<Appended> => {
  const { about, ...rest } = options;
  const creates = { parent: { session: parent.session, seq } };
  return mustAppend(store, child, [forked(parent, seq, about)], { creates, ...rest });
};

export const mustHead = async (store: Store, key: SessionKey): Promise<Head> => {
  const head = await store.head(key);
  if (!head) throw new Error(`${key.session} does not exist`);
  return head;
};

/** Reads the whole sequence, page by page. */
export const readAll = async (store: Store, key: SessionKey, limit = 1000): Promise<readonly StoredEvent[]> => {
  const events: StoredEvent[] = [];
  for (let page: readonly StoredEvent[]; ; ) {
    const after = events.at(-1)?.seq ?? 0;
    page = await store.read(key, { after, limit });
    if (page.length === 0) return events;
    if (page[0]!.seq <= after) throw new Error(`the page after ${after} begins with ${page[0]!.seq}`);
    events.push(...page);
  }
};

/** The seq of the first event that breaks the chain; undefined if all events up to the head are sound. */
export const firstBad = async (store: Store, key: SessionKey): Promise<number | undefined> => {
  const head = await mustHead(store, key);
  let previous = { seq: 0, hash: genesisHash };
  for (const event of await readAll(store, key)) {
    if (linkProblem(previous, event)) return previous.seq + 1;
    previous = event;
  }
  if (previous.seq !== head.seq) return previous.seq + 1;
  return Buffer.from(previous.hash).equals(head.hash) ? undefined : previous.seq;
};

/** Checks that the log is dense, chained and consistent with head and summary. Returns the events. */
export const expectSound = async (store: Store, key: SessionKey): Promise<readonly StoredEvent[]> => {
  const events = await readAll(store, key);
  const head = await mustHead(store, key);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(await firstBad(store, key)).toBeUndefined();
  expect({ seq: head.seq, at: head.at }).toEqual({ seq: events.at(-1)!.seq, at: events.at(-1)!.at });
  const own = events.filter(({ session }) => session === key.session);
  let summary = summarize(undefined, own[0]!);
  for (const each of own.slice(1)) summary = summarize(summary, each);
  expect(head.summary).toEqual(summary);
  return events;
};

export const payloadOf = (event: StoredEvent): Uint8Array => {
  if (event.body.kind !== 'bytes') throw new Error(`event ${event.seq} is ${event.body.kind}`);
  return event.body.bytes;
};

export const textOf = (event: StoredEvent): string => new TextDecoder().decode(payloadOf(event));

export const seqs = (events: readonly { readonly seq: number }[]): readonly number[] => events.map(({ seq }) => seq);

/** Events as a store reads them after an import. */
export const asImported = (events: readonly StoredEvent[]): readonly StoredEvent[] =>
  events.map((event) => ({ ...event, imported: true }));
