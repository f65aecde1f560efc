import { isPerdureError } from '../../schema/error.ts';
import { type Model, ModelFailure } from '../ports/model.ts';
import { modelToAsk } from '../session/runs/model-trials.ts';
import { type Asked, modelFailed } from './model-failed.ts';
import { askModel } from './model-step.ts';
import type { RunContext } from './run-context.ts';

/** Opens a model. Returns why it cannot be opened, if its configuration or its package is missing. */
const openModel = async ({ models }: RunContext, name: string): Promise<Model | ModelFailure> => {
  try {
    return await models.open(name);
  } catch (error) {
    if (isPerdureError(error) && error.code !== 'HOSTED_MODEL_UNAVAILABLE') throw error;
    const message = error instanceof Error ? error.message : String(error);
    return new ModelFailure('unconfigured', message, { cause: error });
  }
};

/** Whether the error says that the mandatory parts of the context do not fit into the model's window. */
const isTooSmall = (error: unknown): error is Error =>
  isPerdureError(error, 'INVALID_INPUT') && typeof error.details.needed === 'number';

/**
 * Asks the model that the log says is next. Passes over a model that is not configured, and one whose window cannot
 * hold the context, if the run has others.
 */
export const askModels = async (run: RunContext): Promise<Asked> => {
  const fold = await run.writer.fold();
  const name = modelToAsk(run.models.names, fold.run!.trials);
  const model = await openModel(run, name);
  if (model instanceof ModelFailure) return modelFailed(run, name, model);
  try {
    return await askModel(run, model);
  } catch (error) {
    if (run.models.names.length === 1 || !isTooSmall(error)) throw error;
    return modelFailed(run, name, new ModelFailure('overflow', error.message, { cause: error }), { canCompact: false });
  }
};
