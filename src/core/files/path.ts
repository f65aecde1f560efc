import { PerdureError } from '../../schema/error.ts';

export type ParsedPath = { readonly segments: readonly string[] } | { readonly problem: string };

/** The runtime's own folder, which sessions must not touch. */
export const ownFolder = '.perdure';

const maxNameBytes = 255;
/** Characters that some file systems ignore in names. */
const unseen = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const shortOwnName = /^perdur~\d+$/;

/**
 * Whether a name means the runtime's own folder, including variants that a file system which folds case or ignores
 * characters treats as equal.
 */
export const isOwnName = (name: string): boolean => {
  const folded = name
    .replace(unseen, '')
    .normalize('NFKC')
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '');
  return folded === ownFolder || shortOwnName.test(folded);
};

const windowsDevice = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])[ ]*(?:[.:].*)?$/is;
// biome-ignore lint/suspicious/noControlCharactersInRegex: Windows refuses them in names.
const windowsForbidden = /[<>:"|?*\\\u0000-\u001f]/;

const windowsProblem = (name: string): string | undefined => {
  if (windowsForbidden.test(name)) return 'has a character that is not allowed on Windows';
  if (/[. ]$/.test(name)) return 'ends in a dot or a space, which Windows ignores';
  return windowsDevice.test(name) ? 'is the name of a device on Windows' : undefined;
};

/** Returns why a name is not allowed in a worktree. Returns undefined if it is allowed. */
export const nameProblem = (name: string, platform: NodeJS.Platform = process.platform): string | undefined => {
  if (name === '' || name === '.' || name === '..') return 'is not a valid name';
  if (name.includes('/') || name.includes('\0')) return 'has a character that is not allowed in names';
  if (!name.isWellFormed()) return 'is not valid Unicode';
  if (Buffer.byteLength(name) > maxNameBytes) return `is longer than ${maxNameBytes} bytes`;
  if (isOwnName(name)) return 'belongs to the runtime and is reserved';
  return platform === 'win32' ? windowsProblem(name) : undefined;
};

export const maxPathChars = 4096;

/** Joins a folder path and a name. Limits the length, because damaged trees could be nested without end. */
export const childPath = (folder: string, name: string): string => {
  const path = folder === '' ? name : `${folder}/${name}`;
  if (path.length <= maxPathChars) return path;
  throw new PerdureError('INVALID_INPUT', `a path is longer than ${maxPathChars} characters: ${path.slice(0, 100)}…`);
};

const isRooted = (path: string, platform: NodeJS.Platform): boolean =>
  path.startsWith('/') || (platform === 'win32' && (/^\\/.test(path) || /^[a-z]:/i.test(path)));

/** Parses a path relative to the worktree. Rejects every path with `..`, even one that would stay inside. */
export const parsePath = (path: string, platform: NodeJS.Platform = process.platform): ParsedPath => {
  if (isRooted(path, platform)) return { problem: 'is absolute: use a path relative to the worktree' };
  if (path.length > maxPathChars) return { problem: `is longer than ${maxPathChars} characters` };
  const parts = path.split(platform === 'win32' ? /[\\/]/ : '/').filter((each) => each !== '' && each !== '.');
  if (parts.includes('..')) return { problem: 'contains ..: use a path inside the worktree' };
  for (const part of parts) {
    const problem = nameProblem(part, platform);
    if (problem) return { problem };
  }
  return { segments: parts };
};
