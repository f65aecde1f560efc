import { PerdureError } from '../schema/error.ts';

/** An agent that the server holds: by its name in the newest version, or with the version, as what defineAgent gives has it. */
export type AgentRef = string | { readonly name: string; readonly version?: number | undefined };

export const agentRef = (agent: AgentRef): { readonly name: string; readonly version?: number | undefined } => {
  const { name, version } = typeof agent === 'string' ? { name: agent } : (agent ?? {});
  if (typeof name === 'string') return { name, version };
  throw new PerdureError(
    'INVALID_INPUT',
    'the agent is not valid: give its name, { name, version } or what defineAgent gives',
  );
};
