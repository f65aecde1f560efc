import type { LanguageModelV4 } from '@ai-sdk/provider';
import { type Model, modelName, type ResolveModel } from '../core/ports/model.ts';
import { PerdureError } from '../schema/error.ts';
import { demoScript } from './demo-script.ts';
import { fromLanguageModel, type LanguageModelOptions } from './from-language-model.ts';
import type { ModelsConfig } from './models-config.ts';
import { defaultsOf, missingOf, openProvider, providerFor, secretsOf } from './providers.ts';
import { defineScript, type ScriptDefinition } from './script.ts';
import { scriptedModel } from './scripted.ts';

const unavailable = (model: string, next: string) =>
  new PerdureError('HOSTED_MODEL_UNAVAILABLE', `the model ${model} is not configured: ${next}`, { details: { model } });

const isModel = (value: unknown): value is Model =>
  typeof value === 'object' && value !== null && 'answer' in value && typeof value.answer === 'function';

const isLanguageModel = (value: unknown): value is { specificationVersion: string } =>
  typeof value === 'object' && value !== null && 'doStream' in value && 'specificationVersion' in value;

const isScript = (value: unknown): value is ScriptDefinition =>
  typeof value === 'object' && value !== null && 'steps' in value;

const examples = '`anthropic/NAME`, `openai/NAME`, `PROVIDER/NAME` or `scripted/demo`';

/** Splits at the first slash: `openrouter/qwen/qwen3` is the model `qwen/qwen3` of the provider `openrouter`. */
const split = (model: string): readonly [provider: string, name: string] => {
  const at = model.indexOf('/');
  if (at < 1 || at === model.length - 1) throw unavailable(JSON.stringify(model), `name it as ${examples}`);
  return [model.slice(0, at), model.slice(at + 1)];
};

export const resolveModels = (config: ModelsConfig = {}): ResolveModel => {
  const opened = new Map<string, Model>();

  const optionsOf = (name: string): LanguageModelOptions => ({
    stallMs: config.stallMs,
    contextTokens: config.contextTokens,
    ...config.models?.[name],
    name,
  });

  const openScript = (definition: ScriptDefinition): Model => {
    const script = defineScript(definition);
    const { contextTokens } = optionsOf(String(modelName(script)));
    return scriptedModel(script, { contextTokens, pause: config.pause });
  };

  const open = async (model: string): Promise<Model> => {
    const [providerName, name] = split(model);
    if (model === modelName(demoScript)) return openScript(demoScript);
    if (providerName === 'scripted') {
      throw unavailable(model, 'only `scripted/demo` is known by its name: give the agent what `defineScript` made');
    }
    const provider = providerFor(providerName, config.providers?.[providerName], config.env ?? process.env);
    const missing = missingOf(provider);
    if (missing) throw unavailable(model, missing);
    const languageModel = (await openProvider(provider))(name);
    return fromLanguageModel(languageModel, {
      ...optionsOf(model),
      keyName: provider.keyName,
      urlName: provider.urlName,
      secrets: secretsOf(provider),
      provider: defaultsOf(provider),
    });
  };

  const adopt = (given: { specificationVersion: string }): Model => {
    const languageModel = given as LanguageModelV4;
    const name = String(modelName(languageModel));
    if (given.specificationVersion === 'v4') return fromLanguageModel(languageModel, optionsOf(name));
    throw unavailable(
      name,
      `it implements ${given.specificationVersion} of the AI SDK, but v4 is needed: update its package`,
    );
  };

  return async (model) => {
    if (isModel(model)) return model;
    if (isLanguageModel(model)) return adopt(model);
    if (isScript(model)) return openScript(model);
    if (model === undefined)
      throw new PerdureError(
        'HOSTED_MODEL_UNAVAILABLE',
        `the agent names no model: set \`model\` to ${examples}, a script or a LanguageModelV4`,
      );
    if (typeof model !== 'string')
      throw unavailable(String(model), `name it as ${examples}, or pass a script or a LanguageModelV4`);
    const known = opened.get(model) ?? (await open(model));
    opened.set(model, known);
    return known;
  };
};
