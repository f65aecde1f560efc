import type { Status } from '../../schema/lifecycle.ts';
import type { Role } from '../../schema/message.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { printableLine } from './printable.ts';
import type { Style, Terminal } from './terminal.ts';

/** One colour per meaning, in every command. */
const statusStyle: Readonly<Record<Status, Style>> = {
  open: 'cyan',
  active: 'green',
  pausing: 'yellow',
  paused: 'yellow',
  closed: 'gray',
  archived: 'gray',
};

/**
 * Colours a status. `text` may be padded to a column, and is made printable, because a foreign database may contain
 * any text.
 */
export const paintStatus = (status: Status, out: Terminal, text: string = status): string =>
  out.style(statusStyle[status] ?? 'reset', printableLine(text) + text.slice(text.trimEnd().length));

/** The status of a session, with a mark if the session is quarantined. */
export const statusText = ({ status, damaged }: Pick<SessionSummary, 'status' | 'damaged'>): string =>
  damaged ? `${status}, damaged` : status;

/** Colours the status of a session. `text` may be padded to a column. */
export const paintSummary = (
  summary: Pick<SessionSummary, 'status' | 'damaged'>,
  out: Terminal,
  text: string = statusText(summary),
): string =>
  summary.damaged
    ? out.style('red', printableLine(text) + text.slice(text.trimEnd().length))
    : paintStatus(summary.status, out, text);

export const roleStyle: Readonly<Record<Role, Style>> = {
  user: 'cyan',
  assistant: 'green',
  system: 'magenta',
  tool: 'yellow',
};
