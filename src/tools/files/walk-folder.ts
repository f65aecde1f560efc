import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { HeldFolder } from '../../core/files/disk/held-folder.ts';
import { type IgnoreRules, maxRulesBytes, parseIgnoreRules } from '../../core/files/ignore-rules.ts';
import { withPlace } from './held-place.ts';
import { withFileAt } from './open-file.ts';

export interface Found {
  /** The path relative to the session's folder, with slashes. */
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

interface ScopedRules {
  /** The folder of the rules, relative to the session's folder. Empty for that folder itself. */
  readonly folder: string;
  readonly rules: IgnoreRules;
}

/** Skipped even without a .gitignore. */
const alwaysIgnored = new Set(['node_modules', '__pycache__']);

const kindOf = (entry: Dirent): Found['kind'] => {
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isDirectory()) return 'folder';
  return entry.isFile() ? 'file' : 'other';
};

/** The rules of a deeper folder take precedence. */
const isIgnored = (scopes: readonly ScopedRules[], path: string, isFolder: boolean): boolean => {
  for (const { folder, rules } of scopes.toReversed()) {
    const verdict = rules(folder === '' ? path : path.slice(folder.length + 1), isFolder);
    if (verdict) return verdict === 'ignored';
  }
  return false;
};

const readRules = (path: string): Promise<string> =>
  withFileAt(path, async (file, size) => (size > maxRulesBytes ? '' : file.readFile('utf8')));

const rulesAt = async (
  folder: string,
  held: HeldFolder,
  above: readonly ScopedRules[],
): Promise<readonly ScopedRules[]> => {
  const text = await readRules(held.at('.gitignore')).catch(() => '');
  return text === '' ? above : [...above, { folder, rules: parseIgnoreRules(text) }];
};

const within = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);

/** A folder with its rules and entries. Has no entries if the folder is gone, or if a command put a link there. */
const readFolder = async (root: string, folder: string, above: readonly ScopedRules[]) => {
  try {
    return await withPlace({ root, name: within(folder, '.') }, async (path, held) => ({
      scopes: await rulesAt(folder, held, above),
      entries: await readdir(path, { withFileTypes: true }),
    }));
  } catch {
    return { scopes: above, entries: [] };
  }
};

const rulesAbove = async (root: string, folder: string): Promise<readonly ScopedRules[]> => {
  if (folder === '') return [];
  const above = folder.includes('/') ? folder.slice(0, folder.lastIndexOf('/')) : '';
  return (await readFolder(root, above, await rulesAbove(root, above))).scopes;
};

/**
 * Walks in name order, each folder before its content. Skips hidden and ignored entries, and does not follow links.
 * `from` is the name of a folder in `root`.
 */
export async function* walkFolder(root: string, from: string, depth = Number.POSITIVE_INFINITY): AsyncGenerator<Found> {
  const folder = from === '.' ? '' : from;
  yield* walk(root, folder, depth, await rulesAbove(root, folder));
}

async function* walk(
  root: string,
  folder: string,
  depth: number,
  above: readonly ScopedRules[],
): AsyncGenerator<Found> {
  const { scopes, entries } = await readFolder(root, folder, above);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith('.') || alwaysIgnored.has(entry.name)) continue;
    const name = within(folder, entry.name);
    const kind = kindOf(entry);
    if (isIgnored(scopes, name, kind === 'folder')) continue;
    yield { name, kind };
    if (kind === 'folder' && depth > 1) yield* walk(root, name, depth - 1, scopes);
  }
}
