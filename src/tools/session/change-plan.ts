import { z } from 'zod';
import { ToolFailure } from '../../core/ports/tool.ts';
import type { State } from '../../schema/state.ts';
import { EntryKey, Note } from './entry-key.ts';

export const PlanChange = z.discriminatedUnion('do', [
  z.object({
    do: z.literal('set').describe('adds a step, or changes the step with this id'),
    id: EntryKey,
    step: Note.optional().describe('required for a new step'),
    status: z.enum(['todo', 'doing', 'done']).optional(),
  }),
  z.object({
    do: z.literal('move'),
    id: EntryKey,
    before: EntryKey.optional().describe('the step to move it before; by default the end'),
  }),
  z.object({ do: z.literal('drop').describe('abandons a step'), id: EntryKey }),
]);
export type PlanChange = z.infer<typeof PlanChange>;

type Plan = Record<string, State['plan'][string]>;

export const stepsInOrder = (plan: State['plan']) =>
  Object.entries(plan)
    .map(([id, step]) => ({ id, ...step }))
    .sort((a, b) => a.order - b.order);

const known = (plan: Plan, id: string) => {
  if (Object.hasOwn(plan, id)) return plan[id]!;
  throw new ToolFailure(`the plan has no step ${id}; it has: ${Object.keys(plan).join(', ') || 'none'}`);
};

const afterLast = (plan: Plan): number => Math.max(0, ...Object.values(plan).map(({ order }) => order)) + 1;

/** An order between the new neighbours, so that no other step has to change. */
const orderBefore = (plan: Plan, id: string, before: string): number => {
  const { order } = known(plan, before);
  const earlier = stepsInOrder(plan).filter((step) => step.id !== id && step.order < order);
  return ((earlier.at(-1)?.order ?? order - 2) + order) / 2;
};

const setStep = (plan: Plan, { id, step, status }: Extract<PlanChange, { do: 'set' }>): void => {
  const before = Object.hasOwn(plan, id) ? plan[id] : undefined;
  const text = step ?? before?.step;
  if (text === undefined) throw new ToolFailure(`${id} is a new step: describe it in "step"`);
  plan[id] = { step: text, status: status ?? before?.status ?? 'todo', order: before?.order ?? afterLast(plan) };
};

export const changePlan = (plan: Plan, changes: readonly PlanChange[]): void => {
  for (const change of changes) {
    const { id } = change;
    if (change.do === 'set') setStep(plan, change);
    else if (change.do === 'drop') plan[id] = { ...known(plan, id), status: 'dropped' };
    else {
      const order = change.before === undefined ? afterLast(plan) : orderBefore(plan, id, change.before);
      plan[id] = { ...known(plan, id), order };
    }
  }
};
