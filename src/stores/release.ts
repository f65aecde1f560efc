import { readFileSync } from 'node:fs';

/** The release of this code. The relative path to package.json is the same from `src` and from `dist`. */
export const currentRelease = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
};

export const releaseNumbers = (release: string): readonly number[] =>
  release.split(/[-+]/, 1)[0]!.split('.').map(Number);

/** A pre-release is treated like the release that it precedes. */
export const isNewerRelease = (release: string, than: string): boolean => {
  const theirs = releaseNumbers(than);
  for (const [index, number] of releaseNumbers(release).entries()) {
    if (number !== (theirs[index] ?? 0)) return number > (theirs[index] ?? 0);
  }
  return false;
};
