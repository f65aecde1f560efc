import type { ModelAccess } from '../engine/scope.ts';
import type { Model } from '../ports/model.ts';
import type { Agent } from '../session/agent.ts';
import type { Patience } from '../session/runs/model-trials.ts';

/** The models of a run. */
export interface RunModels extends Patience {
  /** Opens a model by its name. Throws HOSTED_MODEL_UNAVAILABLE if the model is not configured. */
  open(name: string): Promise<Model>;
}

/** The name under which the log records that an agent has no model. */
const noModel = 'none';

/** The models that the runs of an agent may ask, according to its policies. */
export const runModels = (
  { models: resolve }: Pick<ModelAccess, 'models'>,
  { models, modelNames, onModelFailure, maxModelWaitMs }: Agent,
): RunModels => {
  const all = models.length > 0 ? modelNames : [noModel];
  const opened = new Map<string, Promise<Model>>();
  return {
    names: onModelFailure === 'fallback' ? all : all.slice(0, 1),
    maxWaitMs: onModelFailure === 'fail' ? 0 : maxModelWaitMs,
    open: (name) => {
      const known = opened.get(name) ?? resolve(models[all.indexOf(name)]);
      opened.set(name, known);
      return known;
    },
  };
};
