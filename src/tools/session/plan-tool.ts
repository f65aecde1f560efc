import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import { changePlan, PlanChange, stepsInOrder } from './change-plan.ts';

export const planTool = defineTool({
  name: 'plan',
  description:
    'Changes the plan: sets steps and how far they are, moves them, drops them. Gives the plan as it is then.',
  input: z.object({ changes: z.array(PlanChange).min(1).max(100) }),
  effects: 'none',
  usesFiles: false,
  execute: ({ changes }, { state }) => {
    const plan = { ...state.plan };
    changePlan(plan, changes);
    return stepsInOrder(plan).map(({ id, step, status }) => ({ id, step, status }));
  },
  change: (draft, { changes }) => changePlan(draft.plan, changes),
  summarize: (steps) => `${steps.filter(({ status }) => status === 'done').length} of ${steps.length} steps done`,
});
