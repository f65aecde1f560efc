import { expect, test } from 'vitest';
import type { EventDraft, EventType, PayloadOf } from '../../schema/event.ts';
import { eventDefinitions, upcastPayload } from '../../schema/event.ts';
import { newId, systemActor } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { StoredBody, StoredEvent } from '../ports/store.ts';
import { encodeEvent } from './events/event-codec.ts';
import { summarize } from './summary.ts';

const session = newId('ses');
const run = newId('run');

const log = () => {
  let seq = 0;
  return <T extends EventType>(type: T, payload: PayloadOf<T>, body?: StoredBody): StoredEvent => {
    const event = encodeEvent({ type, payload, actor: systemActor, turn: 0, run } as EventDraft);
    const bytes = { kind: 'bytes', salt: new Uint8Array(16), bytes: event.payload } as const;
    const place = { session, at: 1, turn: 0, opensTurn: false, hash: new Uint8Array(32) };
    seq += 1;
    return { ...event, ...place, seq, body: body ?? bytes };
  };
};
const fold = (...events: readonly StoredEvent[]): SessionSummary =>
  events.reduce<SessionSummary | undefined>((before, event) => summarize(before, event), undefined)!;
const user = (text: string): PayloadOf<'message.appended'> => ({
  message: { id: newId('msg'), role: 'user', content: [{ type: 'text', text }] },
});
const lost = { kind: 'redacted', digest: new Uint8Array(32) } as const;
const failedEnd = { status: 'failed', error: { code: 'MAX_STEPS', message: 'x'.repeat(500) } } as const;

test('[VIEW13] an unreadable message, commit or end leaves out its detail, and the rest of the summary stays', () => {
  const event = log();
  const before = [event('session.opened', {}), event('message.appended', user('hello'), lost)];
  expect(fold(...before)).toMatchObject({ messages: 1, status: 'active' });
  expect(fold(...before)).not.toHaveProperty('firstWords');
  const ended = fold(...before, event('run.ended', failedEnd, lost));
  expect(ended).toMatchObject({ messages: 1 });
  expect(ended).not.toHaveProperty('failure');
  const plan = { delta: [], inverse: [], provenance: 'human', plan: { done: 1, total: 2 } } as const;
  const unread = { kind: 'damaged', reason: 'by hand' } as const;
  expect(fold(...before, event('state.committed', { ...plan, delta: [], inverse: [] }, unread))).not.toHaveProperty(
    'plan',
  );
  expect(fold(...before, event('state.committed', { ...plan, delta: [], inverse: [] }))).toMatchObject({
    plan: { done: 1, total: 2 },
  });
});

test('[VIEW9] the first words come from the first four messages of a person, and a failure is cut', () => {
  const event = log();
  const opened = event('session.opened', {});
  const assistant = () =>
    event('message.appended', {
      message: { id: newId('msg'), role: 'assistant', content: [{ type: 'text', text: 'a' }] },
    });
  const late = [assistant(), assistant(), assistant(), assistant()];
  expect(fold(opened, ...late, event('message.appended', user('late')))).not.toHaveProperty('firstWords');
  expect(fold(opened, late[0]!, event('message.appended', user(' early \n on ')))).toMatchObject({
    firstWords: 'early on',
  });
  const failed = fold(opened, event('run.ended', failedEnd));
  expect(failed.failure).toMatchObject({ run, code: 'MAX_STEPS' });
  expect(failed.failure!.message).toMatch(/^x{199}…$/);
});

test('[VIEW11] a settled approval of version 1 is read with its reason as the comment', () => {
  const approval = newId('apr');
  const read = (version: number, payload: object) =>
    upcastPayload(eventDefinitions['approval.settled'], 'approval.settled', version, payload);
  expect(read(1, { approval, answer: 'denied', reason: 'no' })).toEqual({ approval, answer: 'denied', comment: 'no' });
  expect(read(1, { approval, answer: 'approved' })).toEqual({ approval, answer: 'approved' });
  expect(() => read(1, null as never)).toThrow();
  expect(() => read(2, { approval, answer: 'denied', reason: 'no' })).toThrow();
});
