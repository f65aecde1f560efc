import type { Config } from './config.ts';

/** Note for users without a configuration and without an API key of a provider. */
export const scriptNote = ({ agents, file }: Config): string | undefined => {
  const [demo] = agents;
  const isScript = file === undefined && demo?.modelNames[0]?.startsWith('scripted/');
  return isScript
    ? 'the agent demo is a script, not a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write a perdure.config.ts'
    : undefined;
};
