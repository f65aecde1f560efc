import type { ModelInfo } from '../../core/session/model-infos.ts';
import { printableLine } from '../terminal/printable.ts';

/** The models of an agent in one line, each marked if it is not configured. */
export const modelsText = (models: readonly ModelInfo[]): string =>
  printableLine(models.map(({ name, problem }) => `${name}${problem ? ' (not configured)' : ''}`).join(', '));

/** A line for each model that is not configured, with what to set. */
export const modelProblems = (agents: readonly { readonly models: readonly ModelInfo[] }[]): readonly string[] => {
  const lines = agents.flatMap(({ models }) =>
    models.flatMap(({ name, problem }) => (problem ? printableLine(`${name} is not configured: ${problem}`) : [])),
  );
  return [...new Set(lines)];
};
