import type { Status } from '../schema/lifecycle.ts';
import type { Role } from '../schema/message.ts';
import type { Style } from './terminal.ts';

/** One colour per meaning, in every command. */
export const statusStyle: Readonly<Record<Status, Style>> = {
  open: 'cyan',
  active: 'green',
  pausing: 'yellow',
  paused: 'yellow',
  closed: 'gray',
  archived: 'gray',
};

export const roleStyle: Readonly<Record<Role, Style>> = {
  user: 'cyan',
  assistant: 'green',
  system: 'magenta',
  tool: 'yellow',
};
