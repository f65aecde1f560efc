import { describe, expect, test } from 'vitest';
import { type Actor, newId } from '../../schema/ids.ts';
import { emptyState } from '../../schema/state.ts';
import { statuses } from '../../schema/statuses.ts';
import { decide } from './decide.ts';
import { noFiles } from './files-fold.ts';
import type { SessionFold } from './fold.ts';
import { nothingSecret } from './redact.ts';
import { type ActiveRun, noRuns } from './run-fold.ts';

const actor = 'member:ann' as Actor;
const state = (part: Partial<SessionFold> = {}): SessionFold => ({
  session: newId('ses'),
  seq: 5,
  at: 0,
  createdAt: 0,
  lastTurn: 2,
  turn: 2,
  status: 'active',
  holder: 'agent',
  messages: 3,
  live: [[1, 5]],
  openCalls: {},
  runningCalls: {},
  ...noRuns,
  ...noFiles,
  inputKey: '00'.repeat(32),
  state: emptyState,
  provenance: {},
  adopted: {},
  attempts: {},
  ...part,
});
const run: ActiveRun = {
  id: newId('run'),
  turn: 2,
  attempt: 1,
  steeredBy: [],
  requestedBy: actor,
  steps: 0,
  failures: 0,
  overflowed: false,
  repairs: 0,
};

describe('a decision about a session with a run at work', () => {
  test('[LIFE1] a pause waits for the next safe point', () => {
    const { drafts, command } = decide(state({ run }), { type: 'pause' }, actor, nothingSecret);
    expect(drafts.map(({ type }) => type)).toEqual(['session.pausing']);
    expect(command).toBe('requestPause');
    expect(decide(state(), { type: 'pause' }, actor, nothingSecret).drafts[0]!.type).toBe('session.paused');
  });

  test('[REW2] a rewind is refused until the run has ended', () => {
    expect(() => decide(state({ run }), { type: 'rewind', target: state() }, actor, nothingSecret)).toThrow(
      /run is at work/,
    );
  });

  test('[LIFE1] a close is refused until the run has ended', () => {
    expect(() => decide(state({ run }), { type: 'close', now: 0 }, actor, nothingSecret)).toThrow(/run is at work/);
  });

  test('[LIFE1] a session that is pausing can be resumed, and neither closed nor rewound', () => {
    const pausing = state({ status: 'pausing', run });
    expect(decide(pausing, { type: 'resume' }, actor, nothingSecret).drafts[0]!.type).toBe('session.resumed');
    for (const type of ['close', 'reopen', 'archive', 'restore'] as const) {
      expect(() => decide(pausing, { type, now: 0 }, actor, nothingSecret), type).toThrow(
        expect.objectContaining({ code: 'ILLEGAL_TRANSITION' }),
      );
    }
  });
});

describe('a decision', () => {
  test('[FORK6, WR3] to go back ends the runs that wait, as the one who took the session over', () => {
    const queued = [newId('run'), newId('run')].map((id, place) => ({
      run: id,
      message: { id: newId('msg'), role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] },
      policy: 'queue' as const,
      from: { role: 'member' as const },
      seq: place + 1,
      by: actor,
    }));
    const rewind = { type: 'rewind', target: state({ seq: 3 }) } as const;
    const { drafts, ...how } = decide(state({ queue: queued as never }), rewind, actor, nothingSecret);
    expect(drafts).toMatchObject([
      ...queued.map(({ run: id }) => ({ type: 'run.ended', payload: { status: 'cancelled' }, actor, run: id })),
      { type: 'session.rewound', actor },
    ]);
    expect(how).toMatchObject({ takesOver: true, raisesEpoch: true });
    expect(decide(state(), rewind, actor, nothingSecret)).not.toHaveProperty('takesOver');
  });

  test('[LIFE1] never lets an append through but in a status that allows it', () => {
    const messages = [{ id: newId('msg'), role: 'user', content: [{ type: 'text', text: 'hi' }] }] as const;
    const allowed = statuses.filter((status) => {
      try {
        decide(state({ status }), { type: 'append', messages: [...messages] as never }, actor, nothingSecret);
        return true;
      } catch {
        return false;
      }
    });
    expect(allowed).toEqual(['open', 'active', 'pausing']);
  });

  test('[CTX3] refuses the second result of a call', () => {
    const result = (callId: string) => ({
      id: newId('msg'),
      role: 'tool' as const,
      content: [{ type: 'tool-result' as const, callId, tool: 't', outcome: 'ok' as const, output: null }],
    });
    const open = state({ openCalls: { __proto__x: { tool: 't', seq: 4 } } });
    expect(() =>
      decide(open, { type: 'append', messages: [result('__proto__x'), result('__proto__x')] }, actor, nothingSecret),
    ).toThrow(/no open call/);
    expect(() => decide(state(), { type: 'append', messages: [result('__proto__')] }, actor, nothingSecret)).toThrow(
      /no open call/,
    );
  });
});
