import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Worktrees } from '../src/core/files/disk/worktrees.ts';
import { type BlobTable, openBlobTable } from './blob-table.ts';
import { type Figure, show } from './figure.ts';
import { median, timeOf } from './statistics.ts';
import { realContent } from './workload.ts';

const changedCount = 20;
const filesPerFolder = 20;
const nanosPerMs = 1e6;
/** Long enough that file times are no longer too recent for git and for us, and that our last scan is saved. */
const settleMs = 700;

const pathOf = (index: number): string => {
  const folder = Math.floor(index / filesPerFolder);
  return `part-${folder % 25}/module-${folder}/file-${index}.ts`;
};

const makeTree = (folder: string, fileCount: number): void => {
  const { source } = realContent();
  for (let index = 0; index < fileCount; index++) {
    const path = join(folder, pathOf(index));
    if (index % filesPerFolder === 0) mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `// ${index}\n${source(500 + ((index * 7919) % 8000))}`);
  }
};

/** Changes different files in each round, all over the tree. */
const change = (folder: string, fileCount: number, round: number): void => {
  for (let each = 0; each < changedCount; each++) {
    const index = (round * 131 + each * (fileCount / changedCount)) % fileCount;
    writeFileSync(join(folder, pathOf(index)), `// changed in round ${round}\n${'x'.repeat(1000 + each)}`);
  }
};

/** A separate git directory, used for snapshots. Uses one process for everything where git allows it. */
class Git {
  readonly #env: NodeJS.ProcessEnv;

  constructor(gitFolder: string, folder: string) {
    this.#env = { ...process.env, GIT_DIR: gitFolder, GIT_WORK_TREE: folder, GIT_CONFIG_GLOBAL: '/dev/null' };
    this.#run(['init', '-q']);
  }

  snapshot(): string {
    this.#run(['add', '-A']);
    return this.#run(['write-tree']).trim();
  }

  restore(tree: string): void {
    this.#run(['read-tree', '-u', '--reset', tree]);
  }

  fork(tree: string, folder: string): void {
    this.#run(['read-tree', '-u', '--reset', tree], { GIT_WORK_TREE: folder, GIT_INDEX_FILE: `${folder}.index` });
  }

  #run(args: readonly string[], more: NodeJS.ProcessEnv = {}): string {
    return execFileSync('git', args, { env: { ...this.#env, ...more }, encoding: 'utf8' });
  }
}

const walk = (folder: string): void => {
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (lstatSync(path).isDirectory()) walk(path);
  }
};

interface Times {
  readonly ours: number[];
  readonly git: number[];
}
const newTimes = (): Times => ({ ours: [], git: [] });

/** Alternates which side runs first, because the second may have less to do, or more to wait for. */
const inTurns = async (
  round: number,
  times: Times,
  ours: () => Promise<unknown>,
  git: () => unknown,
): Promise<void> => {
  const mine = async () => times.ours.push(await timeOf(ours));
  const theirs = async () => times.git.push(await timeOf(git));
  for (const each of round % 2 === 0 ? [mine, theirs] : [theirs, mine]) await each();
};

const figureOf = (
  name: string,
  { ours, git }: Times,
  more: Partial<Figure> & { readonly detail?: string } = {},
): Figure => ({
  unit: 'x',
  value: median(ours) / median(git),
  ...more,
  name,
  detail: `${show(median(ours), 'ms')} against ${show(median(git), 'ms')}${more.detail ?? ''}`,
});

interface LoopUse {
  /** The longest CPU time of the thread between two checks of its timers. */
  readonly turnMs: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures how much our work delays the event loop. */
class LoopWatch {
  readonly #delay = monitorEventLoopDelay({ resolution: 1 });
  readonly #timer: NodeJS.Timeout;
  #last = this.#cpuMs();
  #turnMs = 0;

  constructor() {
    this.#delay.enable();
    this.#timer = setInterval(() => this.#look(), 1);
  }

  stop(): LoopUse {
    this.#look();
    clearInterval(this.#timer);
    this.#delay.disable();
    return { turnMs: this.#turnMs, p99: this.#delay.percentile(99) / nanosPerMs, max: this.#delay.max / nanosPerMs };
  }

  #look(): void {
    const now = this.#cpuMs();
    this.#turnMs = Math.max(this.#turnMs, now - this.#last);
    this.#last = now;
  }

  #cpuMs(): number {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  }
}

class FilesBench {
  readonly #worktrees: Worktrees;
  readonly #fileCount: number;
  readonly #home = mkdtempSync(join(tmpdir(), 'perdure-bench-'));
  readonly #loops: LoopUse[] = [];
  #places = 0;
  /** One of two identical trees, so that neither side sees the other's effects. */
  readonly #tree = this.#newPlace();
  readonly #treeOfGit = this.#newPlace();
  #blobs: BlobTable | undefined;

  constructor(worktrees: Worktrees, fileCount: number) {
    this.#worktrees = worktrees;
    this.#fileCount = fileCount;
  }

  async run(rounds: number): Promise<readonly Figure[]> {
    for (const tree of [this.#tree, this.#treeOfGit]) makeTree(tree, this.#fileCount);
    await pause(settleMs);
    const first = await this.#first(Math.ceil(rounds / 3));
    const warm = await this.#warm(rounds);
    const all = show(this.#fileCount, '');
    const detail = `; walking and looking at each alone ${show(warm.walked, 'ms')}`;
    return [
      figureOf(`first snapshot of ${all} files against git`, first, { target: { atMost: 1.5 } }),
      figureOf(`snapshot after ${changedCount} of ${all} changed against git`, warm.snapshot, {
        target: { atMost: 1 },
        detail,
      }),
      figureOf(`restore of ${changedCount} of ${all} against git`, warm.restore, { target: { atMost: 1 } }),
      figureOf(`a new worktree of ${all} files against git`, await this.#fork(Math.ceil(rounds / 3))),
      {
        name: 'longest turn of the event loop meanwhile, in CPU time',
        value: Math.max(...this.#loops.map(({ turnMs }) => turnMs)),
        unit: 'ms',
        target: { below: 20 },
        detail: `waiting for a busy machine included p99 ${show(median(this.#loops.map(({ p99 }) => p99)), 'ms')}, max ${show(median(this.#loops.map(({ max }) => max)), 'ms')} (medians over the tasks)`,
      },
    ];
  }

  async remove(): Promise<void> {
    await this.#blobs?.close();
    rmSync(this.#home, { recursive: true });
  }

  #newPlace(): string {
    const place = join(this.#home, String(this.#places++));
    mkdirSync(place);
    return place;
  }

  get #ours() {
    return { folder: this.#tree, cacheFile: join(this.#home, `cache-${this.#places}`) };
  }

  async #watched<T>(work: () => Promise<T>): Promise<T> {
    const watch = new LoopWatch();
    try {
      return await work();
    } finally {
      this.#loops.push(watch.stop());
    }
  }

  async #first(rounds: number): Promise<Times> {
    const times = newTimes();
    for (let round = 0; round < rounds; round++) {
      await this.#blobs?.close();
      this.#blobs = openBlobTable(join(this.#newPlace(), 'blobs.db'));
      const blobs = this.#blobs;
      const git = new Git(this.#newPlace(), this.#treeOfGit);
      await blobs.hasBlobs([]);
      await inTurns(
        round,
        times,
        () => this.#watched(() => this.#worktrees.snapshot(this.#ours, blobs)),
        () => git.snapshot(),
      );
    }
    return times;
  }

  async #warm(rounds: number) {
    const [blobs, ours] = [this.#blobs!, this.#ours];
    const git = new Git(this.#newPlace(), this.#treeOfGit);
    const [snapshot, restore, walked] = [newTimes(), newTimes(), [] as number[]];
    let { root: base } = await this.#worktrees.snapshot(ours, blobs);
    const [root, tree] = [base, git.snapshot()];
    for (let round = 0; round < rounds; round++) {
      for (const each of [this.#tree, this.#treeOfGit]) change(each, this.#fileCount, round);
      await pause(settleMs);
      walked.push(await timeOf(() => walk(this.#tree)));
      await inTurns(
        round,
        snapshot,
        () => this.#watched(async () => ({ root: base } = await this.#worktrees.snapshot({ ...ours, base }, blobs))),
        () => git.snapshot(),
      );
      await inTurns(
        round,
        restore,
        () => this.#watched(() => this.#worktrees.restore({ ...ours, base, root }, blobs)),
        () => git.restore(tree),
      );
      base = root;
    }
    return { snapshot, restore, walked: median(walked) };
  }

  /**
   * Measures forks. Nothing is removed during the measurement, because ext4 creates files more slowly after recent
   * removals nearby.
   */
  async #fork(rounds: number): Promise<Times> {
    const blobs = this.#blobs!;
    const { root } = await this.#worktrees.snapshot(this.#ours, blobs);
    const git = new Git(this.#newPlace(), this.#treeOfGit);
    const tree = git.snapshot();
    const times = newTimes();
    for (let round = 0; round < rounds; round++) {
      const [folder, folderOfGit] = [this.#newPlace(), this.#newPlace()];
      await inTurns(
        round,
        times,
        () => this.#watched(() => this.#worktrees.restore({ folder, cacheFile: `${folder}.cache`, root }, blobs)),
        () => git.fork(tree, folderOfGit),
      );
    }
    return times;
  }
}

/**
 * Measures snapshots, compared with real git on the same tree: `git add -A && git write-tree` in a separate git
 * directory.
 */
export const filesCost = async (quick: boolean): Promise<readonly Figure[]> => {
  const worktrees = new Worktrees();
  const bench = new FilesBench(worktrees, quick ? 1000 : 10_000);
  try {
    return await bench.run(quick ? 6 : 15);
  } finally {
    await worktrees.stop();
    await bench.remove();
  }
};
