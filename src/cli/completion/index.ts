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

/** What a shell runs once: all it needs but ids, for which it asks `perdure complete`. */
export const completionScript = (shell: Shell, commands: readonly Command[], topics: Topics): string =>
  scripts[shell](completionTable(commands, topics));
