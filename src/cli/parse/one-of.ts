import { nearest } from './nearest.ts';
import { wrongCall } from './wrong-call.ts';

/** Returns `: did you mean NAME?` when a known name is similar, otherwise an empty text. */
export const suggestion = (word: string, known: readonly string[], shown = (name: string): string => name): string => {
  const meant = nearest(word, known);
  return meant === undefined ? '' : `: did you mean ${shown(meant)}?`;
};

export const parseOneOf = <Name extends string>(subject: string, names: readonly Name[], given: string): Name => {
  const found = names.find((name) => name === given);
  if (found) return found;
  throw wrongCall(`${subject} is ${names.join(', ')}; got "${given}"${suggestion(given, names)}`);
};
