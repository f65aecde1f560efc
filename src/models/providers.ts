import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ModelSettings } from '../core/ports/model.ts';
import { leastSecretChars } from '../schema/least-secret-chars.ts';
import type { ModelsConfig, ProviderApi, ProviderConfig } from './models-config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A provider as it is going to be asked. */
export interface Provider extends ProviderConfig {
  readonly name: string;
  readonly api: ProviderApi;
  readonly keyName: string;
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

export const providerFor = (name: string, config: ProviderConfig | undefined, env: Environment): Provider => {
  const { api, keyName, urlName } = isKnown(name) ? known[name]! : namesFor(name);
  return {
    ...config,
    name,
    api: config?.api ?? api,
    keyName,
    urlName,
    needsKey: isKnown(name),
    baseUrl: given(config?.baseUrl) ?? given(env[urlName]),
    apiKey: given(config?.apiKey) ?? given(env[keyName]),
  };
};

const isAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

/** What has to be set before the provider can be asked; undefined when nothing is missing. */
export const missingOf = ({ name, api, apiKey, baseUrl, keyName, urlName, needsKey }: Provider): string | undefined => {
  if (baseUrl && !isAddress(baseUrl))
    return `its base URL is not an http or https URL: correct ${urlName} or perdure.config.ts`;
  if (baseUrl && new URL(baseUrl).password)
    return `its base URL holds a password, which no request can: take it out of ${urlName} or perdure.config.ts and set ${keyName}, or headers`;
  if (needsKey)
    return apiKey
      ? undefined
      : `set ${keyName}, or models.providers.${name}.apiKey in perdure.config.ts or openRuntime`;
  if (baseUrl) return undefined;
  return `set ${urlName} (and ${keyName} if it wants a key), or models.providers.${name} in perdure.config.ts or openRuntime: { baseUrl: '…', api: '${api}' }`;
};

/** What no message may tell: those that are long enough to be told from ordinary words. */
export const secretsOf = ({ apiKey, headers = {} }: Provider): readonly string[] =>
  [apiKey ?? '', ...Object.values(headers)].filter(({ length }) => length >= leastSecretChars);

/** Others say which version or team is meant, and are ordinary words. */
const secretHeader = /auth|key|token|secret|cookie|password/i;

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

/** All that is known here by the configuration: no log, file or model gets to see one of them. */
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

/** Options that hold unless an agent's settings say otherwise. */
export const defaultsOf = ({ api, name }: Provider): ModelSettings['provider'] => {
  if (api === 'responses') return { openai: { store: false } };
  if (api !== 'messages') return undefined;
  return { anthropic: { includePings: true, ...(name === 'anthropic' && { cacheControl: { type: 'ephemeral' } }) } };
};

/** Anthropic's own tools write the address without the version, the SDK wants it with it. */
const versioned = (address: string): string =>
  new URL(address).pathname === '/' ? `${address.replace(/\/+$/, '')}/v1` : address;

/** Loads the provider's package on first use: whoever does not ask it does not wait for it. */
export const openProvider = async (provider: Provider): Promise<(model: string) => LanguageModelV4> => {
  const { name, api, baseUrl, apiKey, headers, structuredOutput = true } = provider;
  // A server without keys still gets one: the SDK insists, and looks for that of OpenAI or Anthropic in the environment.
  const settings = { ...(headers && { headers }), apiKey: apiKey ?? 'none' };
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
    supportsStructuredOutputs: structuredOutput,
    ...(headers && { headers }),
    ...(apiKey && { apiKey }),
  });
};
