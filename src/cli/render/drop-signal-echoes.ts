import type { Interrupt } from '../parse/command.ts';

/** Time within which the forwarded copy arrives, even on a busy machine. */
const echoMs = 500;

/**
 * Drops forwarded copies of signals. SIGTERM or SIGHUP to a process group reaches this process twice: directly, and
 * forwarded by the launcher that an older Node started. Ctrl-C is not forwarded.
 */
export const dropSignalEchoes = (
  listener: (interrupt: Interrupt) => void,
  now: () => number = () => performance.now(),
): ((interrupt: Interrupt) => void) => {
  let leftAt = Number.NEGATIVE_INFINITY;
  return (interrupt) => {
    const isEcho = interrupt === 'leave' && now() - leftAt < echoMs;
    if (interrupt === 'leave') leftAt = now();
    if (!isEcho) listener(interrupt);
  };
};
