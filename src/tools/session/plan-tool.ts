import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import { changePlan, PlanChange, stepsInOrder } from './change-plan.ts';

export const planTool = defineTool({
  name: 'plan',
  description: 'Changes the plan: adds steps, sets their status, moves them, drops them. Returns the new plan.',
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
