import type { Command } from '../command.ts';
import { append } from './append.ts';
import { exportCommand } from './export.ts';
import { fork } from './fork.ts';
import { importCommand } from './import.ts';
import { lifecycleCommands } from './lifecycle.ts';
import { log } from './log.ts';
import { ls } from './ls.ts';
import { open } from './open.ts';
import { rewind } from './rewind.ts';
import { show } from './show.ts';
import { tree } from './tree.ts';
import { verify } from './verify.ts';

/** In the order of the help. */
export const commands: readonly Command[] = [
  open,
  append,
  ls,
  show,
  log,
  fork,
  rewind,
  tree,
  ...lifecycleCommands,
  verify,
  exportCommand,
  importCommand,
];

export const findCommand = (name: string): Command | undefined => commands.find((command) => command.name === name);
