import type { Actor } from '../../schema/ids.ts';
import type { Usage } from '../../schema/run.ts';
import type { Charge } from '../ports/charges.ts';
import type { StoredEvent } from '../ports/store.ts';
import { decodePayload } from './events/event-codec.ts';
import { isRestOfCall } from './runs/partial-answer.ts';

/** The name behind an actor of this kind. Returns undefined for actors of other kinds. */
const nameOf = (actor: Actor | undefined, kind: 'agent' | 'member'): string | undefined =>
  actor?.startsWith(`${kind}:`) ? actor.slice(kind.length + 1) : undefined;

/** The member of this store who requested the work. A bundle can name anybody, so its charges have no member. */
const memberOf = ({ imported }: StoredEvent, requestedBy: Actor | undefined): string | undefined =>
  imported ? undefined : nameOf(requestedBy, 'member');

/** Whether nothing was used, as in a replay, whose answers are recorded. */
const isNothing = ({ inputTokens, outputTokens, usd }: Usage): boolean => inputTokens + outputTokens === 0 && usd === 0;

/** The charge that an event records. Returns undefined if the event reports no usage. */
export const chargeOf = (event: StoredEvent): Charge | undefined => {
  const { session, seq, at, run, actor } = event;
  const charge = (
    usage: Usage | undefined,
    about: Pick<Charge, 'model' | 'member' | 'child' | 'isRest'>,
    by: Actor | undefined = actor,
  ): Charge | undefined => {
    if (!usage || isNothing(usage)) return undefined;
    const { inputTokens, outputTokens, cachedTokens = 0, usd } = usage;
    const agent = nameOf(by, 'agent');
    return { session, seq, at, run, agent, ...about, inputTokens, outputTokens, cachedTokens, usd };
  };
  switch (event.type) {
    case 'model.completed':
    case 'model.failed': {
      const { model, usage, requestedBy } = decodePayload(event, event.type);
      return charge(usage, { model, member: memberOf(event, requestedBy) });
    }
    case 'message.abandoned': {
      const payload = decodePayload(event, event.type);
      const { model, agent, requestedBy } = payload.usedBy ?? {};
      const isRest = isRestOfCall(payload) || undefined;
      return charge(payload.usage, { model, member: memberOf(event, requestedBy), isRest }, agent);
    }
    case 'child.ended': {
      const { usage, session: child } = decodePayload(event, event.type);
      return charge(usage, { child });
    }
    default:
      return undefined;
  }
};
