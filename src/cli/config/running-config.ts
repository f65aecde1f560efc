import { relative } from 'node:path';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { thrownName, thrownText } from '../parse/thrown-text.ts';
import { isOwnCode } from './own-imports.ts';
import { isThrownBy, placeOfError } from './place-of-error.ts';

/** The configuration whose code runs in this process. */
interface RunningConfig {
  /** Path of the configuration as a person would write it. */
  readonly shown: string;
  readonly from: string;
  /** Modules of the configuration; the set grows as they are imported. */
  readonly written: ReadonlySet<string>;
  isLoading: boolean;
}

let running: RunningConfig | undefined;

const faultOf = async (
  { shown, from, written }: RunningConfig,
  what: string,
  cause: unknown,
): Promise<PerdureError> => {
  const message = thrownText(cause);
  if (isPerdureError(cause)) return new PerdureError(cause.code, `${shown}: ${message}`, { ...cause, cause });
  const error = cause instanceof Error ? cause : new Error(message);
  const [file, ...position] = (await placeOfError([...written], error)) ?? [];
  const advice = file === undefined ? '; fix it' : ` at ${[relative(from, file), ...position].join(':')}; fix it there`;
  return new PerdureError('INVALID_INPUT', `${shown} ${what}: ${thrownName(error)}: ${message}${advice}`, {
    details: { file: shown },
    cause,
  });
};

const notLoaded = 'cannot be loaded';

/** Loads the configuration. From then on, errors that its code throws are attributed to it. */
export const runConfig = async <T>(about: Omit<RunningConfig, 'isLoading'>, load: () => Promise<T>): Promise<T> => {
  const config = { ...about, isLoading: true };
  running = config;
  try {
    return await load();
  } catch (cause) {
    throw await faultOf(config, notLoaded, cause);
  } finally {
    config.isLoading = false;
  }
};

/** Whether a thrown value cannot come from Perdure, which throws only unaltered Error objects. */
const isForeignError = (thrown: unknown): boolean =>
  !(thrown instanceof Error) ||
  (thrown as NodeJS.ErrnoException).code === 'ERR_UNHANDLED_REJECTION' ||
  typeof thrown.stack !== 'string';

/** If the configuration caused an uncaught error, such as one from a timer, returns an error that says so. */
export const strayError = async (thrown: unknown): Promise<unknown> => {
  if (!running) return thrown;
  if (running.isLoading) return faultOf(running, notLoaded, thrown);
  const isIts = isForeignError(thrown) || isThrownBy([...running.written], thrown as Error, isOwnCode);
  return isIts ? faultOf(running, 'failed after it was loaded', thrown) : thrown;
};

/** The error when the event loop is empty although a command has not finished. */
export const unfinished = (): Error =>
  running?.isLoading
    ? new PerdureError(
        'INVALID_INPUT',
        `${running.shown} ${notLoaded}: it awaits something that never comes; fix the top-level \`await\``,
        { details: { file: running.shown } },
      )
    : new Error('the command ended before its work was done');

/** The error when other code ends the process during a command. Undefined if no configuration was running. */
export const endedByOthers = (): PerdureError | undefined =>
  running &&
  new PerdureError(
    'INVALID_INPUT',
    `${running.shown} called process.exit, directly or through an import, before the command was done: remove that call`,
    { details: { file: running.shown } },
  );
