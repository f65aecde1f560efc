import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { PerdureError } from '../../../schema/error.ts';

const run = promisify(execFile);

const maxCloneMs = 30 * 60 * 1000;
/**
 * The maximum size of a pack file. It is below the size limit of files in a snapshot, so that a snapshot includes the
 * whole history.
 */
const maxPackBytes = 24 * 1024 * 1024;
const passedOn = /^(PATH|HOME|USER|LANG|LC_.*|TMPDIR|SSH_.*|XDG_.*|https?_proxy|no_proxy|GIT_SSL_.*)$/i;

/** The environment of git. It disables password prompts and protocols that run commands. */
const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name))),
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
});

const withoutPassword = (repository: string): string => {
  if (!URL.canParse(repository)) return repository;
  const url = new URL(repository);
  url.password = '';
  if (/^https?:$/.test(url.protocol)) url.username = '';
  return url.href;
};

const failure = (repository: string, error: unknown): PerdureError => {
  const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string };
  const shown = withoutPassword(repository);
  if (code === 'ENOENT')
    return new PerdureError('FILE_UNAVAILABLE', 'git is not installed: install it, or copy a folder');
  const why = (stderr || message).trim().replaceAll(repository, shown).slice(-500);
  return new PerdureError('FILE_UNAVAILABLE', `${shown} cannot be cloned: ${why}`, { details: { repository: shown } });
};

const hasLargePack = async (folder: string): Promise<boolean> => {
  const packs = join(folder, '.git', 'objects', 'pack');
  const names = await readdir(packs).catch(() => []);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(packs, name))).size));
  return sizes.some((size) => size > maxPackBytes);
};

/** Creates an independent clone. It shares no objects with its source and contains no password. */
export const cloneRepository = async (
  given: string,
  ref: string | undefined,
  folder: string,
): Promise<{ readonly repository: string; readonly commit: string }> => {
  const repository = existsSync(given) ? resolve(given) : given;
  const git = async (...args: readonly string[]): Promise<string> => {
    const options = { env: environment(), timeout: maxCloneMs, maxBuffer: 16 * 1024 * 1024 };
    return (await run('git', args, options)).stdout.trim();
  };
  const inside = (...args: readonly string[]): Promise<string> => git('-C', folder, ...args);
  if (ref?.startsWith('-')) throw new PerdureError('INVALID_INPUT', `${ref} is not a branch, tag or commit`);
  try {
    await git('clone', '--quiet', '--no-hardlinks', '--', repository, folder);
    await inside('remote', 'set-url', 'origin', withoutPassword(repository));
    if (ref !== undefined) await inside('checkout', '--quiet', ref, '--');
    if (await hasLargePack(folder)) {
      await inside('config', 'pack.packSizeLimit', String(maxPackBytes));
      await inside('repack', '-adq');
    }
    const commit = await inside('rev-parse', '--verify', '--quiet', 'HEAD').catch(() => 'none');
    return { repository: withoutPassword(repository), commit };
  } catch (error) {
    throw failure(repository, error);
  }
};
