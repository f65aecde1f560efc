import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { type Agent, defineAgent, defineScript, defineTool, openRuntime, type Runtime } from '../../src/index.ts';

const smallFiles = 120;
/** Together larger than one upload batch of a snapshot. */
const largeFiles = 8;
const largeLines = 80_000;

/** Every path has different content in each version, and some paths exist only in one version. */
export const filesOfVersion = (version: string) => {
  const files = Array.from({ length: smallFiles + largeFiles }, (_, index) => ({
    path: `${index % 5}/${index % 10}/${index}`,
    text: `${version} ${index}\n`.repeat(index < smallFiles ? 1 + ((index * 37) % 60) : largeLines),
    mode: index % 3 === 0 ? 0o755 : 0o640,
  }));
  return [...files, { path: `only-${version}/a/b`, text: version, mode: 0o600 }];
};

/** Makes a folder hold one version and nothing else. */
export const fill = (folder: string, version: string): void => {
  for (const name of readdirSync(folder)) if (name.startsWith('only-')) rmSync(join(folder, name), { recursive: true });
  for (const { path, text, mode } of filesOfVersion(version)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    chmodSync(join(folder, path), mode);
  }
  symlinkSync(`${version}/nowhere`, join(folder, `only-${version}/link`));
};

/**
 * An agent with two tools. `fill` runs `fillIt`. Before `look` is called, the runtime restores the worktree to the
 * files in the log.
 */
export const fillingAgent = (fillIt: (folder: string) => void): Agent =>
  defineAgent({
    name: 'filler',
    version: 1,
    model: script,
    tools: [
      defineTool({ name: 'fill', input: z.object({}), execute: (_, { folder }) => fillIt(folder) }),
      defineTool({ name: 'look', input: z.object({}), effects: 'none', execute: () => 'seen' }),
    ],
  });

const script = defineScript({
  name: 'fill',
  everyTurn: true,
  steps: [
    { when: { answers: 0, userMatches: 'look' }, calls: [{ tool: 'look', input: {} }] },
    { when: { answers: 0 }, calls: [{ tool: 'fill', input: {} }] },
    { text: 'Done.' },
  ],
});

export const openFilling = (store: RuntimeStore, data: string, agent: Agent): Promise<Runtime> =>
  openRuntime({ store, data, agents: [agent], worker: false });
