import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { PerdureError } from '../../../schema/error.ts';
import { checkedAddresses, type OutboundPolicy, OutboundRefusal } from '../../host/outbound-policy.ts';

const run = promisify(execFile);

const maxCloneMs = 30 * 60 * 1000;
/**
 * The maximum size of a pack file. It is below the size limit of files in a snapshot, so that a snapshot includes the
 * whole history.
 */
const maxPackBytes = 24 * 1024 * 1024;
const passedOn = /^(PATH|HOME|USER|LANG|LC_.*|TMPDIR|SSH_.*|XDG_.*|https?_proxy|no_proxy|GIT_SSL_.*)$/i;

/** Without HOME, ssh and proxies: the address of a workspace gets no credentials of this host. */
const passedOnToForeign = /^(PATH|LANG|LC_.*|TMPDIR|GIT_SSL_.*)$/i;

/** The environment of git. It disables password prompts and protocols that run commands. */
const environment = (names: RegExp, protocols: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => names.test(name))),
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: protocols,
});

/** A repository, and how git must reach it. */
interface Source {
  readonly repository: string;
  readonly settings: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** A repository that the program names: a path, or an address of any protocol. */
const ownSource = (given: string): Source => ({
  repository: existsSync(given) ? resolve(given) : given,
  settings: [],
  env: environment(passedOn, 'file:git:http:https:ssh'),
});

/** Older releases of git ignore the setting that pins an address. */
const requirePinning = async (env: NodeJS.ProcessEnv): Promise<void> => {
  const { stdout } = await run('git', ['version'], { env });
  const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (Number(major) * 1000 + Number(minor) >= 2037) return;
  throw new Error(`this host has ${stdout.trim()}, and addresses of a workspace need git 2.37: install a newer git`);
};

/**
 * A repository that a workspace names. Git connects to the checked addresses alone, without redirects or a proxy, and
 * does not read the settings of this host, which could rewrite the address.
 */
const foreignSource = async (given: string, policy: OutboundPolicy): Promise<Source> => {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url) throw new OutboundRefusal('expected an address such as https://example.org/app.git');
  url.hostname = url.hostname.replace(/\.$/, '');
  const found = await checkedAddresses(url, policy);
  const env = {
    ...environment(passedOnToForeign, policy.allowPrivate ? 'http:https' : 'https'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    HOME: devNull,
  };
  await requirePinning(env);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const addresses = found.map(({ address, family }) => (family === 6 ? `[${address}]` : address)).join(',');
  const pinned = url.hostname.startsWith('[') ? [] : [`http.curloptResolve=${url.hostname}:${port}:${addresses}`];
  const settings = ['http.followRedirects=false', 'http.proxy=', ...pinned].flatMap((setting) => ['-c', setting]);
  // Git receives the parsed form, so that both agree on what the host is.
  return { repository: url.href, settings, env };
};

const sourceOf = async (given: string, policy: OutboundPolicy | undefined): Promise<Source> =>
  policy ? foreignSource(given, policy) : ownSource(given);

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
  if (error instanceof OutboundRefusal)
    return new PerdureError('INVALID_INPUT', `${shown} may not be cloned: ${message}`, {
      details: { repository: shown },
    });
  const why = (stderr || message).trim().replaceAll(repository, shown).slice(-500);
  return new PerdureError('FILE_UNAVAILABLE', `${shown} cannot be cloned: ${why}`, { details: { repository: shown } });
};

const hasLargePack = async (folder: string): Promise<boolean> => {
  const packs = join(folder, '.git', 'objects', 'pack');
  const names = await readdir(packs).catch(() => []);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(packs, name))).size));
  return sizes.some((size) => size > maxPackBytes);
};

/**
 * Creates an independent clone. It shares no objects with its source and contains no password. With a policy, the
 * repository is one that a workspace names.
 */
export const cloneRepository = async (
  given: string,
  ref: string | undefined,
  folder: string,
  policy?: OutboundPolicy,
): Promise<{ readonly repository: string; readonly commit: string }> => {
  if (ref?.startsWith('-')) throw new PerdureError('INVALID_INPUT', `${ref} is not a branch, tag or commit`);
  const source = await sourceOf(given, policy).catch((error) => Promise.reject(failure(given, error)));
  const { repository, settings, env } = source;
  const git = async (...args: readonly string[]): Promise<string> => {
    const options = { env, timeout: maxCloneMs, maxBuffer: 16 * 1024 * 1024 };
    return (await run('git', [...settings, ...args], options)).stdout.trim();
  };
  const inside = (...args: readonly string[]): Promise<string> => git('-C', folder, ...args);
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
