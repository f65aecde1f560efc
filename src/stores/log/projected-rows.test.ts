import { describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../core/ports/store.ts';
import { encodeEvent } from '../../core/session/events/event-codec.ts';
import type { EventDraft, EventType, PayloadOf } from '../../schema/event.ts';
import { newId, systemActor } from '../../schema/ids.ts';
import { projectionOf } from './projected-rows.ts';

const bodyOf = (bytes: Uint8Array) => ({ kind: 'bytes', salt: new Uint8Array(16), bytes }) as const;

const stored = <T extends EventType>(type: T, payload: PayloadOf<T>): StoredEvent => {
  const event = encodeEvent({ type, payload, actor: systemActor, turn: 1 } as EventDraft);
  const place = { session: newId('ses'), seq: 1, at: 1, turn: 1, opensTurn: false, hash: new Uint8Array(32) };
  return { ...event, ...place, body: bodyOf(event.payload) };
};

const hash = 'a'.repeat(64);
const call = { callId: 'call_1', tool: 'edit' };

describe('the projection of an event', () => {
  test('[QRY1] a commit lists each path that it changes once, with the provenance of the entry and the tool', () => {
    const commit = stored('state.committed', {
      delta: [
        { op: 'test', path: '/facts/list', value: [] },
        { op: 'add', path: '/facts/list/0', value: 1 },
        { op: 'add', path: '/facts/list/0', value: 2 },
        { op: 'remove', path: '/facts/other' },
      ],
      inverse: [],
      provenance: 'human',
      entryProvenance: { '/facts/list': 'unverified' },
      cause: call,
    });
    expect(projectionOf(commit)).toEqual({
      paths: [
        { path: '/facts/list/0', provenance: 'unverified', tool: call.tool },
        { path: '/facts/other', provenance: 'human', tool: call.tool },
      ],
    });
  });

  test('[QRY1, PROV2] a lift lists the entries that it lifts', () => {
    const paths = ['/facts/a', '/facts/b'];
    const lift = stored('state.committed', {
      delta: [],
      inverse: [],
      provenance: 'verified',
      origin: { kind: 'lift', paths },
    });
    expect(projectionOf(lift).paths.map(({ path, provenance }) => [path, provenance])).toEqual([
      ['/facts/a', 'verified'],
      ['/facts/b', 'verified'],
    ]);
  });

  test('[QRY3] a call lists its tool and input, and its end lists the outcome', () => {
    const called = stored('tool.called', { ...call, input: {}, inputHash: hash });
    expect(projectionOf(called)).toEqual({ paths: [], call: { kind: 'called', ...call, inputHash: hash } });
    const completed = stored('tool.completed', {
      ...call,
      output: 1,
      outputHash: hash,
      durationMs: 7,
      trusted: false,
    });
    expect(projectionOf(completed).call).toEqual({
      kind: 'ended',
      callId: 'call_1',
      outcome: 'ok',
      outputHash: hash,
      durationMs: 7,
    });
    const error = { name: 'Error', message: 'no' };
    const failed = stored('tool.failed', { ...call, outcome: 'denied', error, durationMs: 8 });
    expect(projectionOf(failed).call).toEqual({
      kind: 'ended',
      callId: 'call_1',
      outcome: 'denied',
      outputHash: undefined,
      durationMs: 8,
    });
  });

  test('[QRY4] an unreadable event projects nothing', () => {
    const event = stored('tool.called', { ...call, input: {}, inputHash: hash });
    const unreadable: StoredEvent[] = [
      { ...event, body: { kind: 'redacted', digest: new Uint8Array(32) } },
      { ...event, body: { kind: 'damaged', reason: 'it is gone' } },
      { ...event, body: bodyOf(Buffer.from('{')) },
      { ...event, body: bodyOf(Buffer.from('{}')) },
      { ...event, version: 99 },
    ];
    for (const each of unreadable) expect(projectionOf(each)).toEqual({ paths: [] });
  });
});
