import { type ModelInfo, modelInfos } from '../../core/session/model-infos.ts';
import type { Agent, Config } from './config.ts';

/** The models of each agent of the configuration, with what each of them lacks. Opens no store and no model. */
export const configuredModels = async ({
  agents,
  models,
}: Config): Promise<ReadonlyMap<Agent, readonly ModelInfo[]>> => {
  const { resolveModels } = await import('../../models/resolve-model.ts');
  const resolve = resolveModels(models);
  return new Map(agents.map((agent) => [agent, modelInfos(agent, resolve)]));
};
