import type { Env } from '../parse/world.ts';

/** Model of the agent `demo` for each provider key, unless PERDURE_MODEL names another. */
const usualModels: Readonly<Record<string, string>> = {
  ANTHROPIC_API_KEY: 'anthropic/claude-sonnet-5-5',
  OPENAI_API_KEY: 'openai/gpt-5.6',
};

/** Returns undefined without a model; then a script answers. */
export const demoModel = (env: Env): string | undefined =>
  env.PERDURE_MODEL || Object.entries(usualModels).find(([key]) => env[key]?.trim())?.[1];
