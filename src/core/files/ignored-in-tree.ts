import type { BlobHash, Blobs } from '../ports/blobs.ts';
import { maxRulesBytes } from './ignore-rules.ts';
import { defaultScopes, ignoredIn, ignoreFile, type Scope, scopeOf } from './ignore-scopes.ts';
import { type ReadTree, readContent } from './read-tree.ts';
import type { Tree } from './tree.ts';

/**
 * Returns a function that checks a path which is not in the snapshot: whether the snapshot's own ignore rules would
 * leave it out.
 */
export const ignoredInTree = (root: BlobHash, read: ReadTree, blobs: Blobs) => {
  const scopesAt = async (tree: Tree | undefined, folder: readonly string[]): Promise<readonly Scope[]> => {
    const entry = tree?.get(ignoreFile);
    if (entry?.kind !== 'file' || entry.size > maxRulesBytes) return [];
    return [scopeOf(folder, await readContent(blobs, entry.hash))];
  };
  return async (path: string, isFolder: boolean): Promise<boolean> => {
    const segments = path.split('/');
    let tree: Tree | undefined = await read(root);
    let scopes = defaultScopes;
    for (const [index, name] of segments.entries()) {
      const above = segments.slice(0, index);
      scopes = [...scopes, ...(await scopesAt(tree, above))];
      const isLast = index === segments.length - 1;
      if (ignoredIn(scopes, above)(name, isFolder || !isLast)) return true;
      const next = tree?.get(name);
      tree = next?.kind === 'folder' ? await read(next.hash) : undefined;
    }
    return false;
  };
};
