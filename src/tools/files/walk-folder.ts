import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { type IgnoreRules, maxRulesBytes, parseIgnoreRules } from '../../core/files/ignore-rules.ts';

export interface Found {
  readonly real: string;
  /** The path relative to the session's folder, with slashes. */
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

interface ScopedRules {
  readonly folder: string;
  readonly rules: IgnoreRules;
}

/** Skipped even without a .gitignore. */
const alwaysIgnored = new Set(['node_modules', '__pycache__']);

const withSlashes = (path: string): string => path.split(sep).join('/');

const kindOf = (entry: Dirent): Found['kind'] => {
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isDirectory()) return 'folder';
  return entry.isFile() ? 'file' : 'other';
};

/** The rules of a deeper folder take precedence. */
const isIgnored = (scopes: readonly ScopedRules[], path: string, isFolder: boolean): boolean => {
  for (const { folder, rules } of scopes.toReversed()) {
    const verdict = rules(withSlashes(relative(folder, path)), isFolder);
    if (verdict) return verdict === 'ignored';
  }
  return false;
};

const rulesAt = async (folder: string, above: readonly ScopedRules[]): Promise<readonly ScopedRules[]> => {
  const text = await readFile(join(folder, '.gitignore'), 'utf8').catch(() => '');
  return text === '' || text.length > maxRulesBytes ? above : [...above, { folder, rules: parseIgnoreRules(text) }];
};

const rulesFrom = async (root: string, folder: string): Promise<readonly ScopedRules[]> => {
  const above = folder === root ? [] : await rulesFrom(root, dirname(folder));
  return rulesAt(folder, above);
};

/** Walks in name order, each folder before its content. Skips hidden and ignored entries, and does not follow links. */
export async function* walkFolder(root: string, from: string, depth = Number.POSITIVE_INFINITY): AsyncGenerator<Found> {
  yield* walk(root, from, depth, await rulesFrom(root, from));
}

async function* walk(
  root: string,
  folder: string,
  depth: number,
  scopes: readonly ScopedRules[],
): AsyncGenerator<Found> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith('.') || alwaysIgnored.has(entry.name)) continue;
    const real = join(folder, entry.name);
    const kind = kindOf(entry);
    if (isIgnored(scopes, real, kind === 'folder')) continue;
    yield { real, name: withSlashes(relative(root, real)), kind };
    if (kind === 'folder' && depth > 1) yield* walk(root, real, depth - 1, await rulesAt(real, scopes));
  }
}
