import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { newId, SessionId } from '../../schema/ids.ts';
import { Metadata, Text } from '../../schema/json.ts';
import { Limits } from '../../schema/run.ts';
import type { Agent } from '../session/agent.ts';
import { decideOpen } from '../session/decide-open.ts';
import { encodeEvent, parseInput } from '../session/event-codec.ts';
import { eventsOf } from './execute.ts';
import { keyOf, type Scope } from './scope.ts';

const Description = z.strictObject({
  title: Text.max(500).optional(),
  metadata: Metadata.optional(),
  /** What it may use in all; by default what its agent says. */
  budget: Limits.optional(),
});
export interface OpenOptions extends z.input<typeof Description> {
  readonly agent?: Agent | undefined;
  /** A session whose facts, decisions, plan and progress it opens with, without the transcript. */
  readonly carryFrom?: { readonly id: SessionId } | SessionId | undefined;
}

export const openSession = async (scope: Scope, input: OpenOptions): Promise<SessionId> => {
  const { agent, carryFrom, ...rest } = input ?? {};
  const about = parseInput('the session', Description, rest);
  const key = keyOf(scope, newId('ses', scope.clock.now()));
  if (agent?.model !== undefined) await scope.models(agent.model);
  const source = typeof carryFrom === 'string' ? parseInput('carryFrom', SessionId, carryFrom) : carryFrom?.id;
  const carry = source && (await scope.folds.head(keyOf(scope, source)));
  const [first, ...more] = decideOpen({ ...about, agent, carry }, scope.actor);
  const outcome = await scope.store.append({
    ...key,
    writer: { kind: 'outside' },
    at: scope.clock.now(),
    creates: {},
    events: [encodeEvent(first), ...more.map(encodeEvent)],
  });
  if (outcome.outcome !== 'appended') {
    throw new PerdureError('SESSION_EXISTS', `${key.session} exists already: open again`, { details: { ...key } });
  }
  scope.folds.advance(key, undefined, eventsOf(key, [first, ...more], outcome), 0);
  return key.session;
};
