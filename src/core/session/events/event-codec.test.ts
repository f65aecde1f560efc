import { describe, expect, test } from 'vitest';
import type { PerdureError } from '../../../schema/error.ts';
import type { EventDraft } from '../../../schema/event.ts';
import { newId, systemActor, WorkspaceId } from '../../../schema/ids.ts';
import { maxPayloadBytes, type StoredBody, type StoredEvent } from '../../ports/store.ts';
import { decodeEvent, decodePayload, encodeEvent } from './event-codec.ts';

const workspace = WorkspaceId.parse('local');

const said = (content: readonly unknown[], extra: object = {}): EventDraft =>
  ({
    type: 'message.appended',
    payload: { message: { id: newId('msg'), role: 'user', content, ...extra } },
    actor: systemActor,
    turn: 'next',
  }) as unknown as EventDraft;

const stored = (type: string, body: StoredBody | string, version = 1): StoredEvent => ({
  session: newId('ses'),
  seq: 7,
  at: 1_000,
  turn: 2,
  type,
  version,
  actor: systemActor,
  opensTurn: false,
  body:
    typeof body === 'string'
      ? { kind: 'bytes', salt: new Uint8Array(16), bytes: new TextEncoder().encode(body) }
      : body,
  hash: new Uint8Array(32).fill(171),
});

const refusal = (work: () => unknown): PerdureError => {
  try {
    work();
  } catch (error) {
    return error as PerdureError;
  }
  throw new Error('expected an error');
};

describe('encodeEvent', () => {
  test('[EV1] a payload is unchanged after encoding and decoding, and has the newest version', () => {
    const draft = said([{ type: 'text', text: 'Grüße ☃ 𝄞' }]);
    const { payload, ...rest } = encodeEvent(draft);
    expect(rest).toMatchObject({ type: 'message.appended', version: 1, turn: 'next', actor: 'system' });
    const event = decodeEvent(workspace, {
      ...stored('message.appended', { kind: 'bytes', salt: new Uint8Array(16), bytes: payload }),
    });
    expect(event).toMatchObject({ workspace, seq: 7, at: 1_000, turn: 2, version: 1, hash: 'ab'.repeat(32) });
    expect(event.payload).toEqual(draft.payload);
    expect('run' in event).toBe(false);
  });

  const wrong: readonly (readonly [string, EventDraft, string])[] = [
    ['U+0000', said([{ type: 'text', text: 'a\u0000' }]), 'message.content.0.text'],
    ['a lone surrogate', said([{ type: 'text', text: '\ud800' }]), 'message.content.0.text'],
    ['an unknown field', said([{ type: 'text', text: 'a', colour: 'red' }]), 'message.content.0'],
    ['an unknown field further out', said([{ type: 'text', text: 'a' }], { mood: 'good' }), 'message'],
    ['an unknown part', said([{ type: 'smell', text: 'a' }]), 'message.content.0.type'],
    ['a message without content', said([]), 'message.content'],
    [
      'a number that is not JSON',
      said([{ type: 'tool-call', callId: 'c', tool: 't', input: { a: [Number.NaN] } }], { role: 'assistant' }),
      'message.content.0.input.a.0',
    ],
    [
      'U+0000 in a key',
      said([{ type: 'text', text: 'a', provider: { 'k\u0000': 1 } }]),
      'message.content.0.provider.k\u0000',
    ],
    ['a malformed id', said([{ type: 'text', text: 'a' }], { id: 'msg_1' }), 'message.id'],
  ];
  for (const [what, draft, path] of wrong) {
    test(`[IN1, IN7] ${what} is rejected with INVALID_INPUT, naming the path`, () => {
      const error = refusal(() => encodeEvent(draft));
      expect(error.code).toBe('INVALID_INPUT');
      expect((error.details.issues as readonly { path: string }[])[0]?.path).toBe(path);
      expect(error.message).toContain(path);
    });
  }

  test('[IN2] a payload over 16 MiB is rejected with an error that states both sizes; exactly 16 MiB is accepted', () => {
    const empty = encodeEvent(said([{ type: 'text', text: '' }])).payload.length;
    const largest = encodeEvent(said([{ type: 'text', text: 'x'.repeat(maxPayloadBytes - empty) }]));
    expect(largest.payload).toHaveLength(maxPayloadBytes);
    const error = refusal(() => encodeEvent(said([{ type: 'text', text: 'é'.repeat(maxPayloadBytes / 2) }])));
    expect(error.code).toBe('PAYLOAD_TOO_LARGE');
    expect(error.details).toMatchObject({ bytes: maxPayloadBytes + empty, maxBytes: maxPayloadBytes });
    expect(error.message).toContain(`${maxPayloadBytes + empty}`);
    expect(error.message).toContain(`${maxPayloadBytes}`);
  });
});

describe('decodeEvent', () => {
  test('[EV2] an unknown type fails with EVENT_UNSUPPORTED and says to upgrade', () => {
    for (const type of ['custom.noted', 'message.sung', 'constructor']) {
      const error = refusal(() => decodeEvent(workspace, stored(type, '{}')));
      expect(error.code).toBe('EVENT_UNSUPPORTED');
      expect(error.message).toContain('upgrade');
      expect(error.details).toMatchObject({ seq: 7, type });
    }
  });

  test('[EV2] a newer version of a known type fails with EVENT_UNSUPPORTED', () => {
    const error = refusal(() => decodeEvent(workspace, stored('session.resumed', '{}', 2)));
    expect(error).toMatchObject({ code: 'EVENT_UNSUPPORTED', details: { version: 2, newest: 1 } });
  });

  test('[FAULT2] an unreadable event fails with EVENT_DAMAGED, naming the session, the seq and the next step', () => {
    const bodies: readonly (readonly [StoredBody | string, string])[] = [
      ['{not json', 'not JSON'],
      ['', 'not JSON'],
      ['{"reason":7}', 'reason'],
      ['{"unknown":1}', 'unknown'],
      ['null', 'session.paused'],
      [{ kind: 'bytes', salt: new Uint8Array(16), bytes: Uint8Array.of(0x22, 0xff, 0x22) }, 'not JSON'],
      [{ kind: 'damaged', reason: 'the blob is gone' }, 'the blob is gone'],
      [{ kind: 'redacted', digest: new Uint8Array(32) }, 'redacted'],
    ];
    for (const [body, reason] of bodies) {
      const event = stored('session.paused', body);
      const error = refusal(() => decodePayload(event, 'session.paused'));
      expect(error.code).toBe('EVENT_DAMAGED');
      expect(error.message).toContain(reason);
      expect(error.message).toContain('perdure verify');
      expect(error.details).toMatchObject({ session: event.session, seq: 7 });
    }
  });
});
