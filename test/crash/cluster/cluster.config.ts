/** The configuration of the servers, which hold the agent and never work on its runs; what all processes tell is in the current folder. */
import { clusterAgent, clusterModels } from './cluster-agent.ts';

export default { agents: [clusterAgent(process.cwd())], models: clusterModels };
