import type { z } from 'zod';
import type { SessionOf } from '../../../core/runtime/session.ts';
import type { Agent } from '../../../core/session/agent.ts';
import { SessionId } from '../../../schema/ids.ts';
import { defineRoute, type Route, type RouteCall, type RouteDefinition, type Shape, type Values } from '../route.ts';

const inSession = { session: SessionId };
type InSession<P extends Shape> = P & typeof inSession;

/** A route below `/v1/sessions/{session}`; its own parameters alone need to be named. */
interface SessionRoute<P extends Shape, Q extends Shape, B extends z.ZodType, A extends z.ZodType>
  extends Omit<RouteDefinition<P, Q, B, A>, 'handle'> {
  handle(
    call: RouteCall<Values<InSession<P>>, Values<Q>, z.infer<B>> & { readonly session: SessionOf<Agent> },
  ): ReturnType<RouteDefinition<P, Q, B, A>['handle']>;
}

/** Hands in the session that the path names; where there is none, that is the answer. */
export const defineSessionRoute = <
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends z.ZodType = z.ZodUndefined,
  A extends z.ZodType = z.ZodUndefined,
>(
  route: SessionRoute<P, Q, B, A>,
): Route =>
  defineRoute<typeof inSession, Q, B, A>({
    ...route,
    params: { ...inSession, ...route.params },
    handle: async (call) => {
      const session = await call.runtime.sessions.get(call.params.session);
      return (await route.handle({ ...call, params: call.params as Values<InSession<P>>, session })) as never;
    },
  });
