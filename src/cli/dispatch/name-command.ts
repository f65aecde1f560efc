import type { Command } from '../parse/command.ts';
import { nearest } from '../parse/nearest.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { commands, findCommand } from './registry.ts';

/** Two-word commands that share this first word, such as `files ls`. */
export const groupOf = (word: string): readonly Command[] => commands.filter(({ name }) => name.startsWith(`${word} `));

/** Command names of other tools, and the command that does the same here. */
export const otherWords: Readonly<Record<string, string>> = {
  list: 'ls',
  sessions: 'ls',
  status: 'show',
  history: 'log',
  events: 'log',
  transcript: 'show',
  cost: 'usage',
  rename: 'title',
  new: 'open',
  create: 'open',
  run: 'send',
  ask: 'send',
  message: 'append',
  stop: 'cancel',
  kill: 'cancel',
  undo: 'rewind',
  branch: 'fork',
  merge: 'adopt',
  init: 'setup',
  start: 'serve',
  login: 'keys create',
  secrets: 'vault ls',
  check: 'verify',
  version: '--version',
};

const noDeleting =
  'nothing deletes a session yet: close it with `perdure close`, then put it away with `perdure archive`';

/** Tasks that no single command performs, and what to do instead. */
export const otherWishes: Readonly<Record<string, string>> = {
  delete: noDeleting,
  rm: noDeleting,
  config:
    '`perdure help environment` lists the variables that are read, and `perdure help agents` describes perdure.config.ts',
  search:
    '`perdure log --all` finds commits by file, path or time, `perdure calls` finds tool calls, and `perdure files history` shows the changes of a file',
};

const own = (words: Readonly<Record<string, string>>, word: string): string | undefined =>
  Object.hasOwn(words, word) ? words[word] : undefined;

/** The command that was probably meant. */
const meantBy = (first: string, second: string): string | undefined => {
  const known = own(otherWords, first);
  if (known) return known;
  const names = commands.map(({ name }) => name);
  const heads = names.flatMap((name) => (name.includes(' ') ? [name.split(' ')[0]!] : []));
  return nearest(`${first} ${second}`.trim(), names) ?? nearest(first, names) ?? nearest(first, heads);
};

/** Whether there is advice for a word that names no command. */
export const isLikeCommand = (word: string): boolean =>
  own(otherWishes, word) !== undefined || meantBy(word, '') !== undefined;

const unknownCommand = (first: string, second: string): Error => {
  const wish = own(otherWishes, first);
  if (wish) return wrongCall(`there is no command "${first}": ${wish}`);
  const meant = meantBy(first, second);
  const advice = meant ? `did you mean \`perdure ${meant}\`? ` : '';
  const given = meant?.includes(' ') ? `${first} ${second}`.trim() : first;
  return wrongCall(`there is no command "${given}": ${advice}\`perdure help\` lists them all`);
};

const unknownOf = (group: readonly Command[], first: string, second: string): Error => {
  const help = `\`perdure help ${first}\` describes them`;
  const seconds = group.map(({ name }) => name.slice(first.length + 1));
  const words = seconds.join(', ');
  if (second === '') return wrongCall(`${first} needs one of ${words}: ${help}`);
  const meant = nearest(second, seconds);
  const advice = meant ? `did you mean \`perdure ${first} ${meant}\`? ` : '';
  return wrongCall(`there is no command "${first} ${second}": ${advice}there are ${words}; ${help}`);
};

interface Named {
  readonly command: Command;
  /** Number of words in the name of the command. */
  readonly words: number;
}

export const commandNamed = ([first = '', second = '']: readonly string[]): Named => {
  const long = findCommand(`${first} ${second}`);
  if (long) return { command: long, words: 2 };
  const command = findCommand(first);
  if (command) return { command, words: 1 };
  const group = groupOf(first);
  throw group.length > 0 ? unknownOf(group, first, second) : unknownCommand(first, second);
};
