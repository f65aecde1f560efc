import { z } from 'zod';
import { type Tool, ToolFailure } from '../core/ports/tool.ts';
import { defineTool } from './define-tool.ts';

export interface SubagentOptions {
  /** What the calling model calls the tool by. Without it, the name of the agent. */
  readonly name?: string;
  /** Tells the calling model what the agent is good for. */
  readonly description?: string;
  /** How long the task may take. */
  readonly timeoutMs?: number;
}

/** What counts where the options do not say. */
export const subagentDefaults = { timeoutMs: 86_400_000 } as const;

/** A tool that has a task done by another agent, in a session of its own. The runtime must hold that agent too. */
export const subagent = (
  agent: { readonly name: string; readonly version: number },
  about: SubagentOptions = {},
): Tool =>
  defineTool({
    name: about.name ?? agent.name,
    description: about.description ?? `Has a task done by the agent ${agent.name}. Say all that it needs to know.`,
    input: z.object({ task: z.string().min(1) }),
    effects: 'idempotent',
    usesFiles: false,
    timeoutMs: about.timeoutMs ?? subagentDefaults.timeoutMs,
    execute: async ({ task }, context) => {
      const { session, ...end } = await context.delegate(agent, task);
      if (end.status === 'succeeded') return { session, output: end.output };
      const why = end.status === 'failed' ? `: ${end.error.message}` : '';
      throw new ToolFailure(`${agent.name} ${end.status} in ${session}${why}`);
    },
  });
