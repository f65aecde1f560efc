import { readFileSync } from 'node:fs';

/** The release that this code belongs to: package.json stands as far from `src` as from `dist`. */
export const currentRelease = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
};

const numbersOf = (release: string): readonly number[] => release.split(/[-+]/, 1)[0]!.split('.').map(Number);

/** Pre-releases count as the release they lead to. */
export const isNewerRelease = (release: string, than: string): boolean => {
  const theirs = numbersOf(than);
  for (const [index, number] of numbersOf(release).entries()) {
    if (number !== (theirs[index] ?? 0)) return number > (theirs[index] ?? 0);
  }
  return false;
};
