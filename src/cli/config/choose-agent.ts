import { PerdureError } from '../../schema/error.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { suggestion } from '../parse/one-of.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import type { Agent, Config } from './config.ts';

export const nameOf = ({ name, version }: { readonly name: string; readonly version: number }): string =>
  `${name}@${version}`;

const newest = (agents: readonly Agent[]): Agent | undefined => agents.toSorted((a, b) => b.version - a.version)[0];
const namesOf = ({ agents }: Config): string => agents.map(nameOf).join(', ');

/** Finds an agent by `NAME` (its newest version) or `NAME@VERSION`; without a name, the only agent. */
export const chooseAgent = (config: Config, named: string | undefined): Agent => {
  const names = new Set(config.agents.map(({ name }) => name));
  if (named === undefined && names.size > 1) throw wrongCall(`which agent? --agent takes one of ${namesOf(config)}`);
  const found = newest(config.agents.filter((agent) => [undefined, agent.name, nameOf(agent)].includes(named)));
  if (found) return found;
  throw wrongCall(`there is no agent "${named}": there are ${namesOf(config)}${suggestion(named ?? '', [...names])}`);
};

export const holdsAgentOf = ({ agents }: Config, { agent }: SessionSummary): boolean =>
  agent !== undefined && agents.some((each) => nameOf(each) === nameOf(agent));

/** Refuses an input that no agent here could answer, before it is admitted. */
export const refuseForeign = (config: Config, summary: SessionSummary): void => {
  if (!summary.agent || holdsAgentOf(config, summary)) return;
  const agent = nameOf(summary.agent);
  throw new PerdureError(
    'AGENT_VERSION_UNAVAILABLE',
    `${summary.id} belongs to the agent ${agent}, which ${config.file ? 'is not in the configuration' : 'is in no configuration'}: name the file that has it with --config`,
    { details: { session: summary.id, agent } },
  );
};
