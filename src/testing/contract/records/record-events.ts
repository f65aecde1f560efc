import { createHash } from 'node:crypto';
import type { NewEvent } from '../../../core/ports/store.ts';
import type { PayloadOf } from '../../../schema/event.ts';
import { type Actor, type RunId, systemActor } from '../../../schema/ids.ts';
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
  about: { readonly tool?: string; readonly run?: RunId } & About = {},
): NewEvent => {
  const { tool = 'bash', run, turn } = about;
  const payload = { callId, tool, input: {}, inputHash: hashOf(`in ${callId}`) };
  return { ...withActor(event('tool.called', payload, turn), about), run };
};

export const completed = (callId: string, durationMs = 5): NewEvent =>
  event('tool.completed', {
    callId,
    tool: 'bash',
    output: 'done',
    outputHash: hashOf(`out ${callId}`),
    durationMs,
    trusted: true,
  });

export const failed = (
  callId: string,
  outcome: PayloadOf<'tool.failed'>['outcome'] = 'threw',
  durationMs = 5,
): NewEvent =>
  event('tool.failed', { callId, tool: 'bash', outcome, error: { name: 'Error', message: 'no' }, durationMs });

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
export const runWriter = { kind: 'run', epoch: 0 } as const;
