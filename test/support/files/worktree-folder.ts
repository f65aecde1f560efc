import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The contents of a folder by path: a file's mode and content, a link's target, a folder's mode. */
export type Listing = Readonly<Record<string, string>>;

export interface WorktreeFolder {
  readonly path: string;
  at(name: string): string;
  write(name: string, content: string | Uint8Array, mode?: number): void;
  link(name: string, target: string): void;
  remove(name: string): void;
  list(): Listing;
}

const described = (path: string): string => {
  const stats = lstatSync(path);
  const mode = (stats.mode & 0o777).toString(8);
  if (stats.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  if (stats.isDirectory()) return `folder ${mode}`;
  return stats.isFile() ? `file ${mode} ${readFileSync(path, 'latin1')}` : 'special';
};

const listInto = (root: string, folder: string, all: Record<string, string>): Record<string, string> => {
  for (const name of readdirSync(join(root, folder)).sort()) {
    const path = folder === '' ? name : `${folder}/${name}`;
    const entry = described(join(root, path));
    all[path] = entry;
    if (entry.startsWith('folder')) listInto(root, path, all);
  }
  return all;
};

// The object has no prototype, because a file may be called __proto__.
export const listFolder = (path: string): Listing => listInto(path, '', Object.create(null));

const made: string[] = [];
export const removeWorktrees = (): void => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
};

/** Makes a worktree in a new folder; `removeWorktrees` removes it at the end. */
export const newWorktree = (): WorktreeFolder => {
  const around = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-files-')));
  made.push(around);
  const path = join(around, 'worktree');
  mkdirSync(path);
  const at = (name: string) => join(path, name);
  return {
    path,
    at,
    write: (name, content, mode = 0o644) => {
      mkdirSync(dirname(at(name)), { recursive: true });
      writeFileSync(at(name), content);
      chmodSync(at(name), mode);
    },
    link: (name, target) => {
      mkdirSync(dirname(at(name)), { recursive: true });
      symlinkSync(target, at(name));
    },
    remove: (name) => rmSync(at(name), { recursive: true, force: true }),
    list: () => listFolder(path),
  };
};
