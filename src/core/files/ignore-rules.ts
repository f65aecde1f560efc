import { compileGlob } from './glob.ts';

interface Rule {
  readonly matches: (path: string) => boolean;
  readonly isKept: boolean;
  readonly foldersOnly: boolean;
}

/** Decides about a path relative to the folder of the rules. Returns undefined if no rule matches. */
export type IgnoreRules = (path: string, isFolder: boolean) => 'ignored' | 'kept' | undefined;

/** The maximum size of a rules file. A larger file is not applied. */
export const maxRulesBytes = 256 * 1024;

/**
 * The maximum length of a rule. Longer lines, and lines with more stars, are not applied, because each rule costs time
 * for every character of every name.
 */
const maxLineChars = 1024;
const maxStars = 16;

/** Removes trailing white space, except one character after a backslash. */
const trimmed = (line: string): string => {
  const text = line.trimEnd();
  return text.endsWith('\\') ? line.slice(0, text.length + 1) : text;
};

const ruleOf = (line: string): Rule | undefined => {
  const text = trimmed(line);
  if (text === '' || text.startsWith('#')) return undefined;
  if (text.length > maxLineChars || text.split('*').length - 1 > maxStars) return undefined;
  const isKept = text.startsWith('!');
  const pattern = isKept ? text.slice(1) : text;
  const foldersOnly = pattern.endsWith('/');
  const bare = foldersOnly ? pattern.slice(0, -1) : pattern;
  const isAnchored = bare.includes('/');
  try {
    const test = compileGlob(bare.replace(/^\//, ''));
    const matches = isAnchored ? test : (path: string) => test(path.slice(path.lastIndexOf('/') + 1));
    return { matches, isKept, foldersOnly };
  } catch {
    return undefined;
  }
};

export const parseIgnoreRules = (text: string): IgnoreRules => {
  const rules = text.split(/\r?\n/).flatMap((line) => ruleOf(line) ?? []);
  const forFiles = rules.filter(({ foldersOnly }) => !foldersOnly);
  return (path, isFolder) => {
    const rule = (isFolder ? rules : forFiles).findLast(({ matches }) => matches(path));
    return rule && (rule.isKept ? 'kept' : 'ignored');
  };
};
