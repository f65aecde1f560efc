import type { Observing } from '../../servers/observe/index.ts';
import type { Context } from '../parse/command.ts';

/** Writes logs to stderr as JSON. */
export const observe = async (context: Context, level: string | undefined): Promise<Observing> => {
  const { startObserving } = await import('../../servers/observe/index.ts');
  const write = (line: string): void => void context.err.write(line).catch(() => {});
  return startObserving({ env: process.env, level, write });
};
