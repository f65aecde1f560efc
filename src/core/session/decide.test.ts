import { describe, expect, test } from 'vitest';
import { isPerdureError, type PerdureError } from '../../schema/error.ts';
import { type Actor, newId } from '../../schema/ids.ts';
import type { Message } from '../../schema/message.ts';
import { emptyState } from '../../schema/state.ts';
import { statuses } from '../../schema/statuses.ts';
import { decide, type SessionCommand } from './decide.ts';
import { noFiles } from './files-fold.ts';
import type { SessionFold } from './fold.ts';
import { nothingSecret } from './redaction/redact.ts';
import { noTrials } from './runs/model-trials.ts';
import { type ActiveRun, noRuns } from './runs/run-fold.ts';
import { noTaint } from './taint-fold.ts';
import { noTracking } from './tracking-fold.ts';

const actor = 'member:ann' as Actor;
const state = (part: Partial<SessionFold> = {}): SessionFold => ({
  session: newId('ses'),
  seq: 5,
  hash: '00'.repeat(32),
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
  ...noTracking,
  inputKey: '00'.repeat(32),
  state: emptyState,
  recentFiles: [],
  provenance: {},
  adopted: {},
  contributors: {},
  taint: noTaint,
  attempts: {},
  ...part,
});
const run: ActiveRun = {
  id: newId('run'),
  turn: 2,
  attempt: 1,
  requestedBy: actor,
  steps: 0,
  failures: 0,
  overflowed: false,
  trials: noTrials,
  repairs: 0,
  workedAt: 0,
  windowCorrection: 1,
};

const message: Message = { id: newId('msg'), role: 'user', content: [{ type: 'text', text: 'hi' }] };
const failureOf = (decision: () => unknown): PerdureError => {
  try {
    decision();
  } catch (error) {
    if (isPerdureError(error)) return error;
  }
  throw new Error('expected the decision to fail');
};

describe('a decision about a session with a run', () => {
  test('[LIFE1] a pause waits for the next safe point', () => {
    const { drafts, command } = decide(state({ run }), { type: 'pause' }, actor, nothingSecret);
    expect(drafts.map(({ type }) => type)).toEqual(['session.pausing']);
    expect(command).toBe('requestPause');
    expect(decide(state(), { type: 'pause' }, actor, nothingSecret).drafts[0]!.type).toBe('session.paused');
  });

  const forbidden = {
    close: { type: 'close', now: 0 },
    rewind: { type: 'rewind', target: state() },
    retry: { type: 'retry', turn: 2, message, target: state(), from: { member: 'ann', role: 'member' } as never },
  } as const satisfies Record<string, SessionCommand>;

  test.each([
    ['active', undefined, 'is at work'],
    ['pausing', undefined, 'is at work'],
    ['active', 'approval', 'waits for an approval'],
    ['active', 'question', 'waits for an answer'],
    ['active', 'human', 'waits for a person'],
    ['paused', undefined, 'is paused'],
    ['paused', 'question', 'is paused'],
  ] as const)(
    '[LIFE3, REW2, CLI11] close, rewind and retry fail while %s and waiting for %s, because the run %s',
    (status, waitingFor, does) => {
      const busy = state({ status, run: { ...run, waitingFor } });
      for (const [name, command] of Object.entries(forbidden)) {
        const error = failureOf(() => decide(busy, command, actor, nothingSecret));
        expect(error).toMatchObject({ code: 'ILLEGAL_TRANSITION', details: { status, command: name, run: run.id } });
        expect(error.message).toMatch(
          new RegExp(`^cannot ${name} while a run ${does}: cancel it first; allowed now: `),
        );
        expect(error.details.allowed).toContain('fork');
        expect(error.details.allowed).not.toContain('close');
        expect(error.details.allowed).not.toContain('rewind');
      }
    },
  );

  test('[LIFE1] the list of allowed commands leaves out those that the run forbids', () => {
    const allowed = (part: Partial<SessionFold>) =>
      failureOf(() => decide(state(part), { type: 'archive' }, actor, nothingSecret)).details.allowed;
    expect(allowed({})).toEqual(['append', 'send', 'update', 'commit', 'pause', 'close', 'rewind', 'fork']);
    expect(allowed({ run })).toEqual(['append', 'send', 'update', 'commit', 'pause', 'fork']);
  });

  test('[LIFE1, RUN14] the error for a forbidden retry mentions retry, not rewind', () => {
    const error = failureOf(() => decide(state({ status: 'paused' }), forbidden.retry, actor, nothingSecret));
    expect(error.message).toMatch(/^cannot retry while the session is paused: resume it first; allowed now: /);
    expect(error.details).toMatchObject({ status: 'paused', command: 'retry' });
  });

  test('[LIFE1] a pausing session can be resumed, but not closed, reopened, archived or restored', () => {
    const pausing = state({ status: 'pausing', run });
    expect(decide(pausing, { type: 'resume' }, actor, nothingSecret).drafts[0]!.type).toBe('session.resumed');
    for (const type of ['close', 'reopen', 'archive', 'unarchive'] as const) {
      expect(() => decide(pausing, { type, now: 0 }, actor, nothingSecret), type).toThrow(
        expect.objectContaining({ code: 'ILLEGAL_TRANSITION' }),
      );
    }
  });
});

describe('a decision', () => {
  test('[FORK8, WR3] to rewind cancels the queued runs and takes over as the run writer', () => {
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

  test('[LIFE1] allows an append only while open, active or pausing', () => {
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

  test('[CTX3] rejects a second result for the same call', () => {
    const result = (callId: string) => ({
      id: newId('msg'),
      role: 'tool' as const,
      content: [{ type: 'tool-result' as const, callId, tool: 't', outcome: 'ok' as const, output: null }],
    });
    const open = state({ openCalls: { __proto__x: { tool: 't', message: newId('msg'), seq: 4 } } });
    expect(() =>
      decide(open, { type: 'append', messages: [result('__proto__x'), result('__proto__x')] }, actor, nothingSecret),
    ).toThrow(/no open call/);
    expect(() => decide(state(), { type: 'append', messages: [result('__proto__')] }, actor, nothingSecret)).toThrow(
      /no open call/,
    );
  });
});

test('[RUN1] an input for a session without an agent is rejected, and the error says what to do', () => {
  const command: SessionCommand = {
    type: 'admit',
    input: { run: newId('run'), message, policy: 'queue', from: { role: 'member' } },
  };
  const agentless = state();
  expect(failureOf(() => decide(agentless, command, actor, nothingSecret))).toMatchObject({
    code: 'AGENT_INVALID',
    message: expect.stringContaining('bind one'),
    details: { session: agentless.session },
  });
  const bound = state({ bound: { agent: { name: 'coder', version: 1 }, schemaHash: '00'.repeat(32) } });
  expect(decide(bound, command, actor, nothingSecret)).toMatchObject({
    fact: true,
    drafts: [{ type: 'input.admitted' }],
  });
});
