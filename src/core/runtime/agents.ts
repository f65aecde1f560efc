import type { ResolveModel } from '../ports/model.ts';
import type { Effects } from '../ports/tool.ts';
import { type Agent, unknownAgent } from '../session/agent.ts';
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

/** The agents that the caller may use. A caller of the reach `own` gets those that are offered to it. */
export const offeredAgents = ({ agents, caller }: Pick<Scope, 'agents' | 'caller'>): Scope['agents'] =>
  caller.reach === 'own' ? new Map([...agents].filter(([, { offeredTo }]) => offeredTo === 'own')) : agents;

export const agentsOf = ({ agents, models }: Scope): Agents => {
  const all = [...agents.values()].sort((a, b) =>
    a.name === b.name ? b.version - a.version : a.name < b.name ? -1 : 1,
  );
  return {
    list: () => all.map((agent) => infoOf(agent, models)),
    get: (name, version) => {
      const found = all.find((agent) => agent.name === name && (version === undefined || agent.version === version));
      if (found) return found;
      throw unknownAgent(all, { name, version });
    },
  };
};
