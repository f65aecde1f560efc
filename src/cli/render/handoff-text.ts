import { holderName, type ShownHandoff } from '../../schema/handoff.ts';
import { printableLine } from '../terminal/printable.ts';
import { ago } from './time.ts';

/** Who holds a session, who handed it over, when, and why, as one line. */
export const handoffText = (handoff: ShownHandoff, now: number): string => {
  const { by, at, reason } = handoff;
  return printableLine(
    `with ${holderName(handoff)}: ${by} handed it over ${ago(at, now)}${reason ? `: ${reason}` : ''}`,
  );
};
