import type { State, StoredOperation } from '../../schema/state.ts';

export interface PlanProgress {
  readonly done: number;
  readonly total: number;
}

/** Counts the steps of a plan. A dropped step is not part of the plan any more. */
export const planProgress = ({ plan }: Pick<State, 'plan'>): PlanProgress => {
  const kept = Object.values(plan).filter(({ status }) => status !== 'dropped');
  return { done: kept.filter(({ status }) => status === 'done').length, total: kept.length };
};

/** The progress for a summary, which names a plan only if there is one. */
export const planOf = (state: Pick<State, 'plan'>): PlanProgress | undefined => {
  const progress = planProgress(state);
  return progress.total > 0 ? progress : undefined;
};

export const touchesPlan = (delta: readonly StoredOperation[]): boolean =>
  delta.some(({ op, path }) => op !== 'test' && (path === '/plan' || path.startsWith('/plan/')));
