import type { ResolveModel } from '../ports/model.ts';
import type { Agent } from './agent.ts';

export interface ModelInfo {
  readonly name: string;
  /** What must be configured before the model can be used. Absent if it is configured in this process. */
  readonly problem?: string | undefined;
}

/** The models of an agent, with what each of them lacks. */
export const modelInfos = (
  { models, modelNames }: Agent,
  resolve: Pick<ResolveModel, 'problem'>,
): readonly ModelInfo[] =>
  models.map((model, index) => {
    const problem = resolve.problem(model);
    return { name: modelNames[index]!, ...(problem !== undefined && { problem }) };
  });
