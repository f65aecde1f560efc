import type { Agent } from './config.ts';

/** Name of an agent's model. */
export const modelOf = ({ model }: Agent): string => {
  if (typeof model === 'string') return model;
  const { modelId, name } = (model ?? {}) as { modelId?: unknown; name?: unknown };
  return String(modelId ?? name ?? '');
};
