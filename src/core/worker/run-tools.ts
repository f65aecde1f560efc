import type { RecallAccess } from '../engine/scope.ts';
import type { Tool } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import type { Context } from '../session/context/context.ts';

/**
 * The tools that a run executes: those of its agent, and `recall` unless the agent's policy excludes it. A worker must
 * be able to finish a call of `recall` whatever its own context would leave out.
 */
export const toolsOfRun = (agent: Agent, { recallTool }: RecallAccess): ReadonlyMap<string, Tool> =>
  agent.recall === 'listed' || agent.tools.has(recallTool.name)
    ? agent.tools
    : new Map([...agent.tools, [recallTool.name, recallTool]]);

/** The tools that a request offers: those of the agent, and `recall` if the context leaves something out. */
export const offeredTools = (
  { agent, tools }: { readonly agent: Agent; readonly tools: ReadonlyMap<string, Tool> },
  { evicted }: Pick<Context, 'evicted'>,
): readonly Tool[] => [...tools.values()].filter(({ name }) => evicted.length > 0 || agent.tools.has(name));
