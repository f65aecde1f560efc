import { createHash } from 'node:crypto';
import type { NewEvent } from '../../../core/ports/store.ts';
import type { PayloadOf } from '../../../schema/event.ts';
import { type Actor, type RunId, type SessionId, systemActor } from '../../../schema/ids.ts';
import type { ResultSource } from '../../../schema/message.ts';
import type { Provenance } from '../../../schema/state.ts';
import { event } from '../log/new-events.ts';

/** Hash of the text in hex, for the events that stores project. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

interface About {
  readonly turn?: NewEvent['turn'];
  readonly actor?: string;
}

const withActor = (made: NewEvent, { actor = systemActor }: About): NewEvent => ({ ...made, actor: actor as Actor });

export const committed = (
  paths: readonly string[],
  about: About & {
    readonly tool?: string;
    readonly provenance?: Provenance;
    readonly value?: string;
    readonly origin?: PayloadOf<'state.committed'>['origin'];
  } = {},
): NewEvent => {
  const { tool, provenance = 'verified', value = 'x', origin, turn } = about;
  const payload: PayloadOf<'state.committed'> = {
    delta: paths.map((path) => ({ op: 'add', path, value })),
    inverse: paths.map((path) => ({ op: 'remove', path })),
    provenance,
    ...(tool !== undefined && { cause: { tool, callId: `call of ${tool}` } }),
    ...(origin && { origin }),
  };
  return withActor(event('state.committed', payload, turn), about);
};

export const called = (
  callId: string,
  about: { readonly tool?: string; readonly run?: RunId } & About &
    Pick<PayloadOf<'tool.called'>, 'effects' | 'confined'> = {},
): NewEvent => {
  const { tool = 'bash', run, turn, effects, confined } = about;
  const payload = { callId, tool, input: {}, inputHash: hashOf(`in ${callId}`), effects, confined };
  return { ...withActor(event('tool.called', payload, turn), about), run };
};

export const completed = (callId: string, durationMs = 5, source?: ResultSource): NewEvent =>
  event('tool.completed', {
    callId,
    tool: 'bash',
    output: 'done',
    outputHash: hashOf(`out ${callId}`),
    durationMs,
    trusted: true,
    source,
  });

export const failed = (
  callId: string,
  outcome: PayloadOf<'tool.failed'>['outcome'] = 'threw',
  durationMs = 5,
  source?: ResultSource,
): NewEvent =>
  event('tool.failed', { callId, tool: 'bash', outcome, error: { name: 'Error', message: 'no' }, durationMs, source });

export const answered = (
  usage: PayloadOf<'model.completed'>['usage'],
  about: { readonly agent?: string; readonly model?: string; readonly member?: string; readonly run?: RunId } = {},
): NewEvent => {
  const { agent = 'coder', model = 'test/model', member, run } = about;
  const requestedBy = member === undefined ? undefined : (`member:${member}` as Actor);
  const payload = { model, finish: 'stop', usage, durationMs: 5, requestedBy };
  return { ...withActor(event('model.completed', payload), { actor: `agent:${agent}` }), run };
};

export const childEnded = (session: SessionId, usage: PayloadOf<'child.ended'>['usage'], run?: RunId): NewEvent => ({
  ...withActor(event('child.ended', { callId: 'call_1', session, usage }), { actor: 'agent:coder' }),
  run,
});

/** A call that a loop outside Perdure reports with its end. */
export const reported = (callId: string, outcome: PayloadOf<'call.reported'>['outcome'] = 'ok'): NewEvent =>
  event('call.reported', {
    callId,
    tool: 'bash',
    inputHash: hashOf(`in ${callId}`),
    outcome,
    ...(outcome === 'ok' && { outputHash: hashOf(`out ${callId}`) }),
  });

/** The writer that may append tool events. */
export const runWriter = { kind: 'run', epoch: 0, claim: '' } as const;
