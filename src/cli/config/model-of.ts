import type { Agent } from './config.ts';

/** The name of the model that an agent asks. */
export const modelOf = ({ model }: Agent): string => {
  if (typeof model === 'string') return model;
  const { modelId, name } = (model ?? {}) as { modelId?: unknown; name?: unknown };
  return String(modelId ?? name ?? '');
};
