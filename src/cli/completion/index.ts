import type { Command } from '../parse/command.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import type { Shell } from './shells.ts';
import { type CompletionTable, completionTable, type Topics } from './table.ts';
import { zshScript } from './zsh.ts';

const scripts: Readonly<Record<Shell, (table: CompletionTable) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** The script that a shell loads once. It contains everything except ids, for which it calls `perdure complete`. */
export const completionScript = (shell: Shell, commands: readonly Command[], topics: Topics): string =>
  scripts[shell](completionTable(commands, topics));
