import { PerdureError } from '../schema/error.ts';
import { fieldProblem } from '../schema/field-problem.ts';
import type { ModelConfig, ModelsConfig, ProviderConfig } from './models-config.ts';

export const modelsFields: Record<keyof ModelsConfig, true> = {
  providers: true,
  models: true,
  contextTokens: true,
  stallMs: true,
  env: true,
  pause: true,
};

const providerFields: Record<keyof ProviderConfig, true> = {
  baseUrl: true,
  apiKey: true,
  api: true,
  headers: true,
  structuredOutput: true,
};

const modelFields: Record<keyof ModelConfig, true> = { contextTokens: true, price: true, stallMs: true };

const wrong = (place: string, problem: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `${place}: ${problem}`);

const checkFields = <Fields extends object>(
  place: string,
  given: unknown,
  known: Readonly<Record<keyof Fields, true>>,
): void => {
  const problem = fieldProblem(given, known);
  if (problem) throw wrong(place, problem);
};

const checkEach = <Fields extends object>(
  place: string,
  given: unknown,
  known: Readonly<Record<keyof Fields, true>>,
): void => {
  if (typeof given !== 'object' || given === null) throw wrong(place, 'expected an object');
  for (const [name, each] of Object.entries(given)) {
    if (each !== undefined) checkFields(`${place}.${name}`, each, known);
  }
};

const checkProviders = (providers: unknown): void => {
  checkEach('models.providers', providers, providerFields);
  for (const [name, provider] of Object.entries(providers as NonNullable<ModelsConfig['providers']>)) {
    for (const field of ['baseUrl', 'apiKey'] as const) {
      const value: unknown = provider?.[field];
      if (value !== undefined && typeof value !== 'string') {
        throw wrong(`models.providers.${name}.${field}`, 'expected a string');
      }
    }
  }
};

/** Validates the configuration of models before anything is opened. */
export const checkModels = (given: unknown): void => {
  checkFields('models', given, modelsFields);
  const { providers, models } = given as { readonly [Name in keyof ModelsConfig]: unknown };
  if (providers !== undefined) checkProviders(providers);
  if (models !== undefined) checkEach('models.models', models, modelFields);
};
