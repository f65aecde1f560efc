import type { Command } from './command.ts';
import { commands, findCommand } from './commands/registry.ts';
import { nearest } from './nearest.ts';
import { wrongCall } from './wrong-call.ts';

/** Commands of two words that begin with the same one, such as `files ls`. */
export const groupOf = (word: string): readonly Command[] => commands.filter(({ name }) => name.startsWith(`${word} `));

/** What people type who know other tools. */
const otherWords: Readonly<Record<string, string>> = {
  list: 'ls',
  sessions: 'ls',
  status: 'show',
  history: 'log',
  events: 'log',
  transcript: 'show',
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
  start: 'serve',
  login: 'keys create',
  secrets: 'vault ls',
  backup: 'export',
  check: 'verify',
  version: '--version',
};

export const meantBy = (first: string, second: string): string | undefined => {
  const names = commands.map(({ name }) => name);
  const heads = names.flatMap((name) => (name.includes(' ') ? [name.split(' ')[0]!] : []));
  const [whole, head] = [nearest(`${first} ${second}`.trim(), names), nearest(first, heads)];
  if (whole) return whole;
  return Object.hasOwn(otherWords, first) ? otherWords[first] : (nearest(first, names) ?? head);
};

const unknownCommand = (first: string, second: string, help: string): Error => {
  const meant = meantBy(first, second);
  const advice = meant ? `did you mean \`perdure ${meant}\`? ` : '';
  return wrongCall(
    `there is no command "${meant?.includes(' ') ? `${first} ${second}`.trim() : first}": ${advice}${help}`,
  );
};

const unknownOf = (group: readonly Command[], first: string, second: string): Error => {
  const help = `\`perdure help ${first}\` tells what each does`;
  const words = group.map(({ name }) => name.slice(first.length + 1)).join(', ');
  return second === ''
    ? wrongCall(`${first} is followed by ${words}: ${help}`)
    : unknownCommand(first, second, `there is ${words}; ${help}`);
};

interface Named {
  readonly command: Command;
  /** How many words its name has. */
  readonly words: number;
}

export const commandNamed = ([first = '', second = '']: readonly string[]): Named => {
  const long = findCommand(`${first} ${second}`);
  if (long) return { command: long, words: 2 };
  const command = findCommand(first);
  if (command) return { command, words: 1 };
  const group = groupOf(first);
  throw group.length > 0
    ? unknownOf(group, first, second)
    : unknownCommand(first, second, '`perdure help` lists them all');
};
