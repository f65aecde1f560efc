/** A process that works on a worktree until it is killed. Argument: the plan as JSON. Tells the root of each snapshot that it finished. */
import { Worktrees } from '../../src/core/files/disk/worktrees.ts';
import { FolderBlobs } from './folder-blobs.ts';

export interface FilesPlan {
  readonly folder: string;
  readonly cacheFile: string;
  readonly blobs: string;
  /** Snapshots are taken, or these are restored in turns. */
  readonly roots: readonly string[];
}

const plan = JSON.parse(process.argv[2]!) as FilesPlan;
const { folder, cacheFile, roots } = plan;
const blobs = new FolderBlobs(plan.blobs);
const worktrees = new Worktrees();
const { root } = await worktrees.snapshot({ folder, cacheFile }, blobs);
process.send!({ begun: root });
process.once('message', async () => {
  for (let round = 0; ; round++) {
    if (roots.length > 0) await worktrees.restore({ folder, cacheFile, root: roots[round % roots.length]! }, blobs);
    else process.send!({ taken: (await worktrees.snapshot({ folder, cacheFile }, blobs)).root });
  }
});
