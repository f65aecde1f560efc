import type { Interrupt } from '../parse/command.ts';

/** How soon it comes by the other way, also on a busy machine. */
const echoMs = 500;

/**
 * SIGTERM or SIGHUP to a group of processes reaches this one, and the launcher that an older Node started it by, which passes it on: that is
 * one signal and not two. Ctrl-C comes from the terminal alone.
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
