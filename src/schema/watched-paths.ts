import { listOf } from './bounded.ts';
import { PathPattern } from './path-pattern.ts';

/** Patterns of paths whose untrusted changes are reported, such as `/facts/**`. */
export const WatchedPaths = listOf(PathPattern, { min: 1, max: 20 });

/** What a model relies on most, unless patterns are given. */
export const usuallyWatched: readonly string[] = ['/facts/**', '/decisions/**'];
