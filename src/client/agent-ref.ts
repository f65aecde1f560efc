import { PerdureError } from '../schema/error.ts';

/**
 * An agent that is registered at the server. A bare name means its newest version; the result of `defineAgent` is
 * accepted too.
 */
export type AgentRef = string | { readonly name: string; readonly version?: number | undefined };

export const agentRef = (agent: AgentRef): { readonly name: string; readonly version?: number | undefined } => {
  const { name, version } = typeof agent === 'string' ? { name: agent } : (agent ?? {});
  if (typeof name === 'string') return { name, version };
  throw new PerdureError(
    'INVALID_INPUT',
    'the agent is not valid: pass its name, { name, version } or the result of defineAgent',
  );
};
