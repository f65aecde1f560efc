import { PerdureError } from '../../schema/error.ts';

export type ParsedPath = { readonly segments: readonly string[] } | { readonly problem: string };

/** Where the runtime keeps its own: other sessions, and other workspaces. */
export const ownFolder = '.perdure';

const maxNameBytes = 255;
/** What some file systems do not see in a name. */
const unseen = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const shortOwnName = /^perdur~\d+$/;

/** Also under the names by which a file system that folds case, marks or endings would find it. */
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
  if (windowsForbidden.test(name)) return 'has a character that names cannot have on Windows';
  if (/[. ]$/.test(name)) return 'ends in a dot or a space, which Windows does not see';
  return windowsDevice.test(name) ? 'is the name of a device on Windows' : undefined;
};

/** Why this cannot be the name of something in a worktree; undefined when it can. */
export const nameProblem = (name: string, platform: NodeJS.Platform = process.platform): string | undefined => {
  if (name === '' || name === '.' || name === '..') return 'is no name';
  if (name.includes('/') || name.includes('\0')) return 'has a character that no name can have';
  if (!name.isWellFormed()) return 'is not Unicode';
  if (Buffer.byteLength(name) > maxNameBytes) return `is longer than ${maxNameBytes} bytes`;
  if (isOwnName(name)) return 'belongs to the runtime';
  return platform === 'win32' ? windowsProblem(name) : undefined;
};

export const maxPathChars = 4096;

/** Trees could be nested without end; paths are not. */
export const childPath = (folder: string, name: string): string => {
  const path = folder === '' ? name : `${folder}/${name}`;
  if (path.length <= maxPathChars) return path;
  throw new PerdureError('INVALID_INPUT', `a path is longer than ${maxPathChars} characters: ${path.slice(0, 100)}…`);
};

const isRooted = (path: string, platform: NodeJS.Platform): boolean =>
  path.startsWith('/') || (platform === 'win32' && (/^\\/.test(path) || /^[a-z]:/i.test(path)));

/** A path from the worktree, as archives, trees and callers give it; none that leads upwards, even if it came back. */
export const parsePath = (path: string, platform: NodeJS.Platform = process.platform): ParsedPath => {
  if (isRooted(path, platform)) return { problem: 'is absolute: give a path from the worktree' };
  if (path.length > maxPathChars) return { problem: `is longer than ${maxPathChars} characters` };
  const parts = path.split(platform === 'win32' ? /[\\/]/ : '/').filter((each) => each !== '' && each !== '.');
  if (parts.includes('..')) return { problem: 'leads upwards: give a path from the worktree' };
  for (const part of parts) {
    const problem = nameProblem(part, platform);
    if (problem) return { problem };
  }
  return { segments: parts };
};
