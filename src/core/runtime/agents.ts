import { PerdureError } from '../../schema/error.ts';
import type { ResolveModel } from '../ports/model.ts';
import type { Effects } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import { type ModelInfo, modelInfos } from '../session/model-infos.ts';
import type { Scope } from './scope.ts';

export interface AgentInfo {
  readonly name: string;
  readonly version: number;
  /** The model that runs ask first. */
  readonly model?: string | undefined;
  /** The model and its fallbacks, in order. */
  readonly models: readonly ModelInfo[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly effects: Effects }[];
}

/** The agents that were passed to this runtime. */
export interface Agents {
  /** All agents, in every version. */
  list(): readonly AgentInfo[];
  /** Returns the agent with this name. Without `version`, returns its highest version. */
  get(name: string, version?: number): Agent;
}

const infoOf = (agent: Agent, resolve: ResolveModel): AgentInfo => ({
  name: agent.name,
  version: agent.version,
  model: agent.modelNames[0],
  models: modelInfos(agent, resolve),
  tools: [...agent.tools.values()].map((tool) => ({
    name: tool.name,
    description: tool.description,
    effects: tool.effects,
  })),
});

export const agentsOf = ({ agents, models }: Scope): Agents => {
  const all = [...agents.values()].sort((a, b) =>
    a.name === b.name ? b.version - a.version : a.name < b.name ? -1 : 1,
  );
  return {
    list: () => all.map((agent) => infoOf(agent, models)),
    get: (name, version) => {
      const found = all.find((agent) => agent.name === name && (version === undefined || agent.version === version));
      if (found) return found;
      const there = all.map((agent) => `${agent.name} ${agent.version}`).join(', ') || 'none';
      throw new PerdureError(
        'AGENT_INVALID',
        `there is no agent ${name}${version === undefined ? '' : ` ${version}`} here; available: ${there}`,
        {
          details: { name, version },
        },
      );
    },
  };
};
