import * as worktree from '../../core/files/disk/find-inside.ts';
import { ToolFailure } from '../../core/ports/tool.ts';
import { asFailure } from './file-failure.ts';

export type Inside = worktree.Inside;

/** Resolves a path inside the session's folder. Tells the model why a path is rejected. */
export const findInside = async (folder: string, path: string): Promise<Inside> => {
  const found = await worktree.findInside(folder, path).catch((error) => {
    throw asFailure(error, path);
  });
  if ('problem' in found) throw new ToolFailure(`${path} ${found.problem}`);
  return found;
};
