import manifest from '../../../package.json' with { type: 'json' };
import { nearest } from '../parse/nearest.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { commandsView } from '../render/help-view.ts';
import { commandHelp, groupHelp, overview, type Topic, topics } from './help.ts';
import { commandNamed, groupOf, isLikeCommand } from './name-command.ts';
import { commands, findCommand } from './registry.ts';

const topicNames = Object.keys(topics);

/** Finds the help page for the words after `help`: the overview, a group, a topic or a command. */
export const helpOn = (words: readonly string[]): Topic => {
  const [first, ...more] = words;
  if (first === undefined) {
    return { lines: (out) => overview(manifest.version, out), json: () => commandsView(commands) };
  }
  const group = more.length === 0 ? groupOf(first) : [];
  const own = findCommand(first);
  if (group.length > 0) {
    return {
      lines: (out) => [...(own ? [...commandHelp(own, out), ''] : []), ...groupHelp(group, out)],
      json: () => commandsView([...(own ? [own] : []), ...group]),
    };
  }
  if (more.length === 0 && topicNames.includes(first) && !findCommand(first)) return topics[first]!;
  const topic = nearest(first, topicNames);
  if (topic === first && groupOf(first).length === 0 && !findCommand(first))
    throw wrongCall(`help is about one command, group or topic: leave out "${more[0]}"`);
  if (topic && topic !== first && !isLikeCommand(first))
    throw wrongCall(`there is no help on "${first}": did you mean \`perdure help ${topic}\`?`);
  const { command, words: named } = commandNamed(words);
  if (words.length > named) throw wrongCall(`help is about one command: leave out "${words[named]}"`);
  return { lines: (out) => commandHelp(command, out), json: () => commandsView([command]) };
};
