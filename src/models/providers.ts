import { findPackageJSON } from 'node:module';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ModelSettings } from '../core/ports/model.ts';
import { leastSecretChars } from '../schema/least-secret-chars.ts';
import { boundFetch } from './bound-fetch.ts';
import type { ModelsConfig, ProviderApi, ProviderConfig } from './models-config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A provider with its configuration and environment resolved. */
export interface Provider extends ProviderConfig {
  readonly name: string;
  readonly api: ProviderApi;
  readonly keyName: string;
  /** Names where the key came from, for error messages. It never contains the key. */
  readonly keyAdvice: string;
  readonly urlName: string;
  readonly needsKey: boolean;
}

interface Known {
  readonly api: ProviderApi;
  readonly keyName: string;
  readonly urlName: string;
}

const known: Readonly<Record<string, Known>> = {
  anthropic: { api: 'messages', keyName: 'ANTHROPIC_API_KEY', urlName: 'ANTHROPIC_BASE_URL' },
  openai: { api: 'responses', keyName: 'OPENAI_API_KEY', urlName: 'OPENAI_BASE_URL' },
};

const namesFor = (name: string): Known => {
  const prefix = `PERDURE_PROVIDER_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
  return { api: 'chat', keyName: `${prefix}_API_KEY`, urlName: `${prefix}_BASE_URL` };
};

const isKnown = (name: string): boolean => Object.hasOwn(known, name);

const given = (text: string | undefined): string | undefined => text?.trim() || undefined;

/** Matches the names of headers that hold secrets. Other headers hold ordinary words, such as a version or a team. */
const secretHeader = /auth|key|token|secret|cookie|password/i;

const keyAdviceFor = (name: string, keyName: string, config: ProviderConfig | undefined, env: Environment): string => {
  const option = `models.providers.${name}.apiKey`;
  const isSet = given(env[keyName]) !== undefined;
  const from = (source: string): string => `check the key, which came from ${source}`;
  if (given(config?.apiKey)) return from(`the option ${option}${isSet ? ` (it overrides ${keyName})` : ''}`);
  if (isSet) return from(`the environment variable ${keyName}`);
  const headers = Object.keys(config?.headers ?? {}).filter((header) => secretHeader.test(header));
  if (headers.length > 0) return from(`the option models.providers.${name}.headers (${headers.join(', ')})`);
  return `set ${keyName} or ${option}, because no key was sent`;
};

export const providerFor = (name: string, config: ProviderConfig | undefined, env: Environment): Provider => {
  const { api, keyName, urlName } = isKnown(name) ? known[name]! : namesFor(name);
  return {
    ...config,
    name,
    api: config?.api ?? api,
    keyName,
    keyAdvice: keyAdviceFor(name, keyName, config, env),
    urlName,
    needsKey: isKnown(name),
    baseUrl: given(config?.baseUrl) ?? given(env[urlName]),
    apiKey: given(config?.apiKey) ?? given(env[keyName]),
  };
};

const packages: Readonly<Record<ProviderApi, string>> = {
  messages: '@ai-sdk/anthropic',
  responses: '@ai-sdk/openai',
  chat: '@ai-sdk/openai-compatible',
};

const packageOf = ({ api, name }: Pick<Provider, 'api' | 'name'>): string =>
  packages[name === 'openai' && api === 'chat' ? 'responses' : api];

const isInstalled = (name: string): boolean => {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
};

const isAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

/** What must be configured before the provider can be used. Undefined if nothing is missing. */
export const missingOf = (provider: Provider, hasPackage = isInstalled): string | undefined => {
  const { name, api, apiKey, baseUrl, keyName, urlName, needsKey } = provider;
  if (baseUrl && !isAddress(baseUrl))
    return `its base URL is not an http or https URL: correct ${urlName} or perdure.config.ts`;
  if (baseUrl && new URL(baseUrl).password)
    return `its base URL contains a password, which HTTP requests cannot carry: remove it from ${urlName} or perdure.config.ts and set ${keyName}, or headers`;
  if (needsKey && !apiKey)
    return `set ${keyName}, or models.providers.${name}.apiKey in perdure.config.ts or openRuntime`;
  if (needsKey || baseUrl) {
    const needed = packageOf(provider);
    return hasPackage(needed) ? undefined : `its package is not installed: run \`npm install ${needed}\``;
  }
  return `set ${urlName} (and ${keyName} if it wants a key), or models.providers.${name} in perdure.config.ts or openRuntime: { baseUrl: '…', api: '${api}' }`;
};

/**
 * The secrets of the provider, which no error message may contain. Short values are excluded, because they could be
 * ordinary words.
 */
export const secretsOf = ({ apiKey, headers = {} }: Provider): readonly string[] =>
  [apiKey ?? '', ...Object.values(headers)].filter(({ length }) => length >= leastSecretChars);

const namedSecretsOf = ({ name, keyName, apiKey, headers = {} }: Provider): readonly NamedSecret[] => [
  ...(apiKey ? [{ name: keyName, value: apiKey }] : []),
  ...Object.entries(headers).flatMap(([header, value]) =>
    secretHeader.test(header) ? { name: `${name}:${header}`, value } : [],
  ),
];

interface NamedSecret {
  readonly name: string;
  readonly value: string;
}

/**
 * All secrets in the configuration and the environment. None of them may be written to a log or a file, or be sent to
 * a model.
 */
export const knownSecrets = ({ providers = {}, env = process.env }: ModelsConfig): readonly NamedSecret[] => {
  const named = [...Object.keys(known), ...Object.keys(providers)].map((name) =>
    providerFor(name, providers[name], env),
  );
  const others = Object.entries(env).flatMap(([name, text]) => {
    const value = /^PERDURE_PROVIDER_.+_API_KEY$/.test(name) ? given(text) : undefined;
    return value === undefined ? [] : { name, value };
  });
  return [...named.flatMap(namedSecretsOf), ...others];
};

/** Default options of the provider. An agent's settings override them. */
export const defaultsOf = ({ api, name }: Provider): ModelSettings['provider'] => {
  if (api === 'responses') return { openai: { store: false } };
  if (api !== 'messages') return undefined;
  return { anthropic: { includePings: true, ...(name === 'anthropic' && { cacheControl: { type: 'ephemeral' } }) } };
};

/** Adds the API version to a base URL, because the SDK needs it and Anthropic's own tools omit it. */
const versioned = (address: string): string =>
  new URL(address).pathname === '/' ? `${address.replace(/\/+$/, '')}/v1` : address;

/** Loads the provider's package on first use, so that programs without that provider do not pay for it. */
export const openProvider = async (provider: Provider): Promise<(model: string) => LanguageModelV4> => {
  const { name, api, baseUrl, apiKey, headers, structuredOutput = true } = provider;
  // A server without keys still gets a dummy key. Otherwise the SDK would send the OpenAI or Anthropic key of the
  // environment.
  const settings = { ...(headers && { headers }), apiKey: apiKey ?? 'none', fetch: boundFetch };
  if (api === 'messages') {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ ...settings, baseURL: versioned(baseUrl ?? 'https://api.anthropic.com') });
  }
  if (api === 'responses' || name === 'openai') {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const openai = createOpenAI({ ...settings, baseURL: baseUrl ?? 'https://api.openai.com/v1' });
    return (model) => (api === 'responses' ? openai.responses(model) : openai.chat(model));
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({
    name,
    baseURL: baseUrl ?? '',
    includeUsage: true,
    fetch: boundFetch,
    supportsStructuredOutputs: structuredOutput,
    ...(headers && { headers }),
    ...(apiKey && { apiKey }),
  });
};
