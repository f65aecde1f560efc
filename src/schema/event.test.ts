import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  currentVersion,
  type EventDefinition,
  eventDefinitions,
  eventHeader,
  isEventType,
  upcastPayload,
} from './event.ts';

/** A type with three versions: a text, then a title, then a title and a list of tags. */
const noted: EventDefinition = {
  payload: z.strictObject({ title: z.string(), tags: z.array(z.string()) }),
  upcast: [
    (older) => ({ title: (older as { text: string }).text }),
    (older) => ({ ...(older as { title: string }), tags: [] }),
  ],
};

describe('event definitions', () => {
  test('[EV1] a payload of any earlier version is converted to the newest version', () => {
    const newest = { title: 'a', tags: [] };
    expect(upcastPayload(noted, 'test.noted', 1, { text: 'a' })).toEqual(newest);
    expect(upcastPayload(noted, 'test.noted', 2, { title: 'a' })).toEqual(newest);
    expect(upcastPayload(noted, 'test.noted', 3, newest)).toEqual(newest);
  });

  test('[EV1] converting a payload does not change the argument', () => {
    const stored = Object.freeze({ text: 'a' });
    upcastPayload(noted, 'test.noted', 1, stored);
    expect(stored).toEqual({ text: 'a' });
  });

  test('[EV1] a converted payload must match the newest schema', () => {
    expect(() => upcastPayload(noted, 'test.noted', 3, { title: 'a' })).toThrow(z.ZodError);
    expect(() => upcastPayload(noted, 'test.noted', 2, { title: 'a', unknown: 1 })).toThrow(z.ZodError);
  });

  test('[EV2] a payload of a newer version fails with EVENT_UNSUPPORTED and says to upgrade', () => {
    expect(() => upcastPayload(noted, 'test.noted', 4, {})).toThrow(
      expect.objectContaining({
        code: 'EVENT_UNSUPPORTED',
        message: expect.stringContaining('upgrade'),
        details: { type: 'test.noted', version: 4, newest: 3 },
      }),
    );
  });

  test('[EV1] the current version of a type is the number of its upcasters plus one', () => {
    for (const type of Object.keys(eventDefinitions)) {
      if (!isEventType(type)) throw new Error(type);
      expect(currentVersion(type)).toBe(eventDefinitions[type].upcast.length + 1);
    }
  });

  test('[EV2] only names with a definition are event types', () => {
    expect(isEventType('message.appended')).toBe(true);
    for (const name of ['toString', '__proto__', 'constructor', 'message', 'message.appended ', '']) {
      expect(isEventType(name), name).toBe(false);
    }
  });

  test('[HASH1] every event type is valid in a header, and no header field holds a line break', () => {
    const header = {
      session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a',
      seq: 1,
      at: 0,
      turn: 0,
      type: 'session.opened',
      version: 1,
      actor: 'system',
    };
    for (const type of Object.keys(eventDefinitions)) {
      expect(eventHeader.safeParse({ ...header, type }).success, type).toBe(true);
    }
    const wrong = [
      { type: 'session.opened\n' },
      { type: 'session' },
      { actor: 'system\n' },
      { seq: 0 },
      { seq: 1.5 },
      { at: -1 },
      { version: 0 },
      { turn: -1 },
      { run: '' },
      { extra: 1 },
      { at: Date.UTC(10_000, 0) },
      { turn: 2 ** 31 },
      { version: 2 ** 31 },
    ];
    for (const change of wrong) {
      expect(eventHeader.safeParse({ ...header, ...change }).success, JSON.stringify(change)).toBe(false);
    }
  });
});
