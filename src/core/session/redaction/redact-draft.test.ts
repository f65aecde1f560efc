import { describe, expect, test } from 'vitest';
import type { EventDraft } from '../../../schema/event.ts';
import { type Actor, newId } from '../../../schema/ids.ts';
import { emptyState } from '../../../schema/state.ts';
import { encodeEvent } from '../events/event-codec.ts';
import { applyDelta, changeState } from '../state/state-change.ts';
import { redactorOf } from './redact.ts';
import { redactDraft } from './redact-draft.ts';

const value = 'hunter2-hunter2';
const redactor = redactorOf([{ name: 'pass', value }]);
const actor = 'member:ann' as Actor;
const common = { actor, turn: 'current' as const };

const message = (...content: object[]): EventDraft =>
  ({
    type: 'message.appended',
    payload: { message: { id: newId('msg'), role: 'user', content } },
    ...common,
    encoded: new Uint8Array(1),
  }) as EventDraft;

const storedText = (draft: EventDraft): string => Buffer.from(encodeEvent(draft).payload).toString();

describe('redactDraft', () => {
  test('[RED3, RED13] removes secrets from texts, JSON and files', () => {
    const data = Buffer.from(`password: ${value}`).toString('base64');
    const draft = redactDraft(
      message(
        { type: 'text', text: `it is ${value}`, provider: { [value]: [value] } },
        { type: 'file', mediaType: 'text/plain', data },
      ),
      redactor,
    );
    const text = storedText(draft);
    expect(text).not.toContain(value);
    expect(JSON.parse(text).message.content).toMatchObject([
      { text: 'it is [secret pass]', provider: { '[secret pass]': ['[secret pass]'] } },
      { data: Buffer.from('password: [secret pass]').toString('base64') },
    ]);
  });

  test('[RED3] returns the same draft, with its encoded payload, if it holds no secret', () => {
    const draft = message({ type: 'text', text: 'nothing here' });
    expect(redactDraft(draft, redactor)).toBe(draft);
  });

  test('[RED3, RED13] keeps the field names, enum values and ids of the format, even if they equal a secret', () => {
    const id = newId('ses');
    const known = ['files.snapshotted', 'snapshot', 'leftOut1', 'paths', 'modified', id, 'f'.repeat(64)];
    const odd = redactorOf(known.map((each, place) => ({ name: `s${place}`, value: each })));
    const draft: EventDraft = {
      type: 'files.snapshotted',
      payload: {
        tree: 'f'.repeat(64),
        changed: { created: 0, modified: 1, deleted: 0, renamed: 0 },
        leftOut: { secret: { count: 1, paths: ['snapshot.txt'] } },
        origin: { kind: 'session', session: id, seq: 1 },
      },
      ...common,
    };
    const { payload } = redactDraft(draft, odd) as EventDraft<'files.snapshotted'>;
    expect(payload).toEqual({
      ...draft.payload,
      leftOut: { secret: { count: 1, paths: ['[secret s1].txt'] } },
    });
  });
});

describe('changeState with a redactor', () => {
  test('[RED4] removes secrets from values and keys, and the delta produces the redacted state', () => {
    const change = changeState(
      emptyState,
      (draft) => {
        draft.facts[value] = { token: value, list: [`a ${value}`] };
        draft.facts[`a/${value}`] = 1;
        draft.facts.port = 8080;
      },
      redactor,
    );
    const facts = {
      '[secret pass]': { token: '[secret pass]', list: ['a [secret pass]'] },
      'a/[secret pass]': 1,
      port: 8080,
    };
    expect(change.state.facts).toEqual(facts);
    expect(JSON.stringify(change)).not.toContain(value);
    expect(applyDelta(emptyState, change.delta).facts).toEqual(facts);
    expect(applyDelta(change.state, change.inverse)).toEqual(emptyState);
  });

  test('[RED4] redacts patches too, and merges two keys that become equal', () => {
    const twin = redactorOf([
      { name: 'a', value: 'first-secret' },
      { name: 'a', value: 'other-secret' },
    ]);
    const { state, inverse } = changeState(
      emptyState,
      [
        { op: 'add', path: '/facts/first-secret', value: 1 },
        { op: 'add', path: '/facts/other-secret', value: 'other-secret' },
      ],
      twin,
    );
    expect(state.facts).toEqual({ '[secret a]': '[secret a]' });
    expect(applyDelta(state, inverse)).toEqual(emptyState);
  });

  test('[RED4] an entry whose key was stored before it became a secret keeps that key and can be changed', () => {
    const before = changeState(emptyState, (draft) => {
      draft.facts[value] = { list: [value, 1] };
    }).state;
    const { state, delta, inverse } = changeState(
      before,
      (draft) => {
        (draft.facts[value] as { list: unknown[] }).list.push(2);
      },
      redactor,
    );
    expect(state.facts).toEqual({ [value]: { list: ['[secret pass]', 1, 2] } });
    expect(applyDelta(before, delta)).toEqual(state);
    expect(applyDelta(state, inverse)).toEqual(before);
  });
});
