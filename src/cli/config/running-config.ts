import { relative } from 'node:path';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { thrownName, thrownText } from '../parse/thrown-text.ts';
import { isOwnCode } from './own-imports.ts';
import { isThrownBy, placeOfError } from './place-of-error.ts';

/** The code of a configuration, which runs in this process. */
interface RunningConfig {
  /** As people name it. */
  readonly shown: string;
  readonly from: string;
  /** Its modules, more and more as they are asked for. */
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

/** Loads it, and from then on knows what it throws. */
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

/** We throw and reject with errors alone, and leave them as they are. */
const isNoErrorOfOurs = (thrown: unknown): boolean =>
  !(thrown instanceof Error) ||
  (thrown as NodeJS.ErrnoException).code === 'ERR_UNHANDLED_REJECTION' ||
  typeof thrown.stack !== 'string';

/** What was thrown where nobody catches it, as in a timer: told as the fault of the configuration if it is. */
export const strayError = async (thrown: unknown): Promise<unknown> => {
  if (!running) return thrown;
  if (running.isLoading) return faultOf(running, notLoaded, thrown);
  const isIts = isNoErrorOfOurs(thrown) || isThrownBy([...running.written], thrown as Error, isOwnCode);
  return isIts ? faultOf(running, 'failed after it was loaded', thrown) : thrown;
};

/** Why there is nothing left to do, although a command has not ended. */
export const unfinished = (): Error =>
  running?.isLoading
    ? new PerdureError(
        'INVALID_INPUT',
        `${running.shown} ${notLoaded}: it awaits something that never comes; fix the top-level \`await\``,
        { details: { file: running.shown } },
      )
    : new Error('the command ended before its work was done');

/** Of a process that somebody else ends while a command is under way: whose fault it is, where that is known. */
export const endedByOthers = (): PerdureError | undefined =>
  running &&
  new PerdureError(
    'INVALID_INPUT',
    `${running.shown} called process.exit, directly or through an import, before the command was done: remove that call`,
    { details: { file: running.shown } },
  );
