import { holderName, type ShownHandoff } from '../../schema/handoff.ts';
import { printableLine } from '../terminal/printable.ts';
import { ago } from './time.ts';

/** The holder of a session and the handoff that made it so, as one line. */
export const handoffText = (handoff: ShownHandoff, now: number): string => {
  const { by, at, reason } = handoff;
  return printableLine(
    `with ${holderName(handoff)}: ${by} handed it over ${ago(at, now)}${reason ? `: ${reason}` : ''}`,
  );
};
