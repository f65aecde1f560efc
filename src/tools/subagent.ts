import { z } from 'zod';
import { type Tool, ToolFailure } from '../core/ports/tool.ts';
import { defineTool } from './define-tool.ts';

const dayMs = 86_400_000;

/** A tool that has a task done by another agent, in a session of its own. The runtime must hold that agent too. */
export const subagent = (
  agent: { readonly name: string; readonly version: number },
  about: { readonly name?: string; readonly description?: string; readonly timeoutMs?: number } = {},
): Tool =>
  defineTool({
    name: about.name ?? agent.name,
    description: about.description ?? `Has a task done by the agent ${agent.name}. Say all that it needs to know.`,
    input: z.object({ task: z.string().min(1) }),
    effects: 'idempotent',
    usesFiles: false,
    timeoutMs: about.timeoutMs ?? dayMs,
    execute: async ({ task }, context) => {
      const { status, output, error, session } = await context.delegate(agent, task);
      if (status === 'succeeded') return { session, output };
      throw new ToolFailure(`${agent.name} ${status} in ${session}${error ? `: ${error.message}` : ''}`);
    },
  });
