import { matchesPattern } from '../../../schema/path-pattern.ts';
import type { Provenance } from '../../../schema/state.ts';
import { touchedPaths } from './touched-paths.ts';

const untrusted = ['unverified', 'imported'] as const satisfies readonly Provenance[];

export interface UntrustedPath {
  readonly path: string;
  readonly provenance: (typeof untrusted)[number];
}

/** The paths that a commit touched and to which it gave a provenance below `human`. */
export const untrustedPaths = (commit: Parameters<typeof touchedPaths>[0]): readonly UntrustedPath[] =>
  touchedPaths(commit).flatMap(({ path, provenance }) => {
    const level = untrusted.find((each) => each === provenance);
    return level ? [{ path, provenance: level }] : [];
  });

/** The lowest provenance of the paths that match, and their number. Undefined if none matches. */
export const watchedPart = (
  paths: readonly UntrustedPath[],
  patterns: readonly string[],
): { readonly provenance: UntrustedPath['provenance']; readonly paths: number } | undefined => {
  const found = paths.filter(({ path }) => patterns.some((pattern) => matchesPattern(pattern, path)));
  const provenance = untrusted.find((level) => found.some((each) => each.provenance === level));
  return provenance && { provenance, paths: found.length };
};
