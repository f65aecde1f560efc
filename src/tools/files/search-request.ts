import { basename } from 'node:path';
import { compileGlob } from '../../core/files/glob.ts';

/** What is looked for and where. */
export interface SearchRequest {
  /** The session's folder, and where in it to begin: a folder or a file. */
  readonly root: string;
  readonly from: string;
  readonly pattern: string;
  readonly isText: boolean;
  readonly ignoreCase: boolean;
  readonly glob?: string | undefined;
  readonly maxMatches: number;
}

export interface SearchMatch {
  readonly name: string;
  readonly line: number;
  readonly text: string;
}

export interface SearchResult {
  readonly matches: readonly SearchMatch[];
  readonly isTimedOut: boolean;
}

export const maxMatchChars = 500;
export const maxSearchedBytes = 16 * 1024 * 1024;
const maxAlternatives = 100;

/** Escapes that need none are no error to people, and so to models. */
export const regexOf = ({
  pattern,
  isText,
  ignoreCase,
}: Pick<SearchRequest, 'pattern' | 'isText' | 'ignoreCase'>): RegExp => {
  const source = isText ? RegExp.escape(pattern) : pattern;
  const flags = ignoreCase ? 'i' : '';
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    return new RegExp(source, flags);
  }
};

const alternativesOf = (glob: string): readonly string[] => {
  const [whole, before, inner, after] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(glob) ?? [];
  if (whole === undefined) return [glob];
  return inner!
    .split(',')
    .flatMap((each) => alternativesOf(`${before}${each}${after}`))
    .slice(0, maxAlternatives);
};

/** A glob without a slash is about a file's name, wherever it lies. */
export const globTest = (glob: string | undefined): ((name: string) => boolean) => {
  if (glob === undefined) return () => true;
  const globs = alternativesOf(glob.replace(/^\.?\//, '')).map(compileGlob);
  const matches = (name: string) => globs.some((each) => each(name));
  return glob.includes('/') ? matches : (name) => matches(basename(name));
};
