/**
 * The configuration of the servers. They have the agent but never execute its runs. All processes record what they
 * did in the current folder.
 */
import { clusterAgent, clusterModels } from './cluster-agent.ts';

export default { agents: [clusterAgent(process.cwd())], models: clusterModels };
