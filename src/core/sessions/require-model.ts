import { PerdureError } from '../../schema/error.ts';
import type { ModelAccess } from '../engine/scope.ts';
import type { Agent } from '../session/agent.ts';

/** Fails unless one of the agent's models is configured. Returns without opening the others. */
export const requireModel = async (
  { models: resolve }: Pick<ModelAccess, 'models'>,
  { models, modelNames }: Agent,
): Promise<void> => {
  if (models.length === 0) return;
  const problems = models.map((model) => resolve.problem(model));
  const found = problems.indexOf(undefined);
  if (found >= 0) return void (await resolve(models[found]));
  if (models.length === 1) return void (await resolve(models[0]));
  throw new PerdureError(
    'HOSTED_MODEL_UNAVAILABLE',
    `none of the models is configured: ${problems.map((problem, index) => `${modelNames[index]}: ${problem}`).join('; ')}`,
    { details: { models: modelNames } },
  );
};
