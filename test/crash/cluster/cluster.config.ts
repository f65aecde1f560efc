/** The configuration of the servers, which hold the agent and never work on its runs. */
import { clusterAgent, clusterModels } from './cluster-agent.ts';

export default { agents: [clusterAgent(process.cwd())], models: clusterModels };
