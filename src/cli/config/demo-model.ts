import type { Env } from '../parse/world.ts';

/** What the agent `demo` asks where the key of a provider is set and PERDURE_MODEL names nothing else. */
const usualModels: Readonly<Record<string, string>> = {
  ANTHROPIC_API_KEY: 'anthropic/claude-sonnet-5-5',
  OPENAI_API_KEY: 'openai/gpt-5.6',
};

/** Undefined where there is none: then a script answers. */
export const demoModel = (env: Env): string | undefined =>
  env.PERDURE_MODEL || Object.entries(usualModels).find(([key]) => env[key]?.trim())?.[1];
