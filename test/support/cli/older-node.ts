import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const majorOf = (node: string): number =>
  Number.parseInt(String(spawnSync(node, ['--version']).stdout).replace('v', ''), 10);

export const renamedNode = (folder: string): readonly string[] => {
  const preload = join(folder, 'rename.cjs');
  writeFileSync(preload, `Object.defineProperty(process, 'version', { value: 'v12.22.0' })`);
  return [process.execPath, '-r', preload];
};

/** The command that starts a Node older than 24: an old Node on the PATH, or else this Node with a faked version. */
export const olderNode = (folder: string): readonly string[] => {
  const older = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((place) => !place.includes('node_modules'))
    .map((place) => join(place, 'node'))
    .find((node) => existsSync(node) && majorOf(node) < 24);
  return older ? [older] : renamedNode(folder);
};
