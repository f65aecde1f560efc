import type { LanguageModelV4 } from '@ai-sdk/provider';
import { type Model, modelName, type ResolveModel } from '../core/ports/model.ts';
import { PerdureError } from '../schema/error.ts';
import { demoScript } from './demo-script.ts';
import { fromLanguageModel, type LanguageModelOptions } from './from-language-model.ts';
import type { ModelsConfig } from './models-config.ts';
import { defaultsOf, missingOf, openProvider, type Provider, providerFor, secretsOf } from './providers.ts';
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
  return at < 1 ? ['', ''] : [model.slice(0, at), model.slice(at + 1)];
};

const wrongVersion = ({ specificationVersion: version }: { readonly specificationVersion: string }) =>
  version === 'v4' ? undefined : `it implements ${version} of the AI SDK, but v4 is needed: update its package`;

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

  const providerNamed = (name: string): Provider =>
    providerFor(name, config.providers?.[name], config.env ?? process.env);

  /** What must be set before a model with this name can be opened. */
  const missingFor = (model: string): string | undefined => {
    const [providerName, name] = split(model);
    if (name === '') return `name it as ${examples}`;
    if (model === modelName(demoScript)) return undefined;
    if (providerName === 'scripted')
      return 'only `scripted/demo` is known by its name: give the agent what `defineScript` made';
    return missingOf(providerNamed(providerName));
  };

  const open = async (model: string): Promise<Model> => {
    const [providerName, name] = split(model);
    const missing = missingFor(model);
    if (missing) throw unavailable(name === '' ? JSON.stringify(model) : model, missing);
    if (model === modelName(demoScript)) return openScript(demoScript);
    const provider = providerNamed(providerName);
    const languageModel = (await openProvider(provider))(name);
    return fromLanguageModel(languageModel, {
      ...optionsOf(model),
      keyAdvice: provider.keyAdvice,
      urlName: provider.urlName,
      secrets: secretsOf(provider),
      provider: defaultsOf(provider),
    });
  };

  const adopt = (given: { specificationVersion: string }): Model => {
    const languageModel = given as LanguageModelV4;
    const name = String(modelName(languageModel));
    const wrong = wrongVersion(given);
    if (wrong) throw unavailable(name, wrong);
    return fromLanguageModel(languageModel, optionsOf(name));
  };

  const problem = (model: unknown): string | undefined => {
    if (typeof model === 'string') return missingFor(model);
    if (isModel(model) || isScript(model)) return undefined;
    if (isLanguageModel(model)) return wrongVersion(model);
    return model === undefined
      ? `set \`model\` to ${examples}, a script or a LanguageModelV4`
      : `name it as ${examples}, or pass a script or a LanguageModelV4`;
  };

  const resolve = async (model: unknown): Promise<Model> => {
    if (isModel(model)) return model;
    if (isLanguageModel(model)) return adopt(model);
    if (isScript(model)) return openScript(model);
    if (model === undefined)
      throw new PerdureError('HOSTED_MODEL_UNAVAILABLE', `the agent names no model: ${problem(model)}`);
    if (typeof model !== 'string') throw unavailable(String(model), problem(model)!);
    const known = opened.get(model) ?? (await open(model));
    opened.set(model, known);
    return known;
  };
  return Object.assign(resolve, { problem });
};
