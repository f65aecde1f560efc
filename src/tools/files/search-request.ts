import { basename } from 'node:path';
import { compileGlob } from '../../core/files/glob.ts';

export interface SearchRequest {
  /** The session's folder, with every symbolic link resolved. */
  readonly root: string;
  /** The folder or file to search, relative to `root`. */
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

/** Falls back to a regex without the `u` flag, which rejects needless escapes that models often write. */
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

/** A glob without a slash matches file names in any folder. */
export const globTest = (glob: string | undefined): ((name: string) => boolean) => {
  if (glob === undefined) return () => true;
  const globs = alternativesOf(glob.replace(/^\.?\//, '')).map(compileGlob);
  const matches = (name: string) => globs.some((each) => each(name));
  return glob.includes('/') ? matches : (name) => matches(basename(name));
};
