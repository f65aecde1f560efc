import { WatchedPaths } from '../../schema/watched-paths.ts';
import type { Observing } from '../../servers/observe/index.ts';
import { onToolRejection, toolRejectionText } from '../config/tool-rejections.ts';
import { type Context, choice, texts } from '../parse/command.ts';
import { wrongCall } from '../parse/wrong-call.ts';

const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const;

export const logOption = (usual: string) =>
  choice('LEVEL', logLevels, `what it logs on stderr, as JSON: ${logLevels.join(', ')}; ${usual}`);

export const watchPathOption = texts(
  'PATTERN',
  'count untrusted commits to these paths; default /facts/** and /decisions/**',
);

/** Returns the watched paths. Undefined if none are given. */
export const parseWatchPaths = (given: readonly string[] | undefined): readonly string[] | undefined => {
  if (given === undefined) return undefined;
  const parsed = WatchedPaths.safeParse([...given]);
  if (parsed.success) return parsed.data;
  throw wrongCall(`--watch-path is a pattern such as /facts/**: ${parsed.error.issues[0]?.message}`);
};

/** Writes logs to stderr as JSON, including the rejections that tools leave behind. */
export const observe = async (
  context: Context,
  level: string | undefined,
  watchedPaths?: readonly string[] | undefined,
): Promise<Observing> => {
  const { startObserving } = await import('../../servers/observe/index.ts');
  const write = (line: string): void => void context.err.write(line).catch(() => {});
  const observing = await startObserving({ env: process.env, level, write, watchedPaths });
  const release = onToolRejection((rejection) => observing.error(rejection, toolRejectionText(rejection)));
  const stop = async (): Promise<void> => {
    release();
    await observing.stop();
  };
  return { ...observing, stop };
};
