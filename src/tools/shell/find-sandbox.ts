import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { sandboxArguments } from './sandbox.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { shellPath } from './shell-script.ts';

export type FoundSandbox = { readonly bwrap: string; readonly hasFilter: boolean } | { readonly problem: string };

/** Fixed places. PATH is not searched, because it may lead into a folder that commands can write to. */
const places = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/run/current-system/sw/bin/bwrap'];
const maxProbeMs = 10_000;

/** Runs a program in a sandbox. Returns why that failed. bwrap reads the filter from its standard input. */
const tryToConfine = (bwrap: string, hasNetwork: boolean, filter?: Buffer): string | undefined => {
  const folders = { folder: tmpdir(), temporary: tmpdir(), readable: [], hidden: [] };
  const own = sandboxArguments({ bwrap, ...folders, hasNetwork, hasFilter: filter !== undefined }, {});
  const args = [...(filter ? ['--seccomp', '0'] : []), ...own, '--', shellPath(), '-c', '/usr/bin/env -0'];
  const { status, stderr, error } = spawnSync(bwrap, args, {
    env: {},
    stdio: [filter ? 'pipe' : 'ignore', 'ignore', 'pipe'],
    input: filter,
    encoding: 'utf8',
    timeout: maxProbeMs,
  });
  return status === 0 ? undefined : (error?.message ?? (stderr.trim().split('\n')[0] || `it ended with ${status}`));
};

const probe = (bwrap: string | undefined, hasNetwork: boolean): FoundSandbox => {
  if (!bwrap || !existsSync(bwrap)) return { problem: 'bwrap is not installed (package bubblewrap)' };
  const filter = seccompFilter();
  if (filter && tryToConfine(bwrap, hasNetwork, filter) === undefined) return { bwrap, hasFilter: true };
  const why = tryToConfine(bwrap, hasNetwork);
  if (why === undefined) return { bwrap, hasFilter: false };
  return { problem: `${bwrap} cannot make a sandbox on this host: ${why}` };
};

const found = new Map<string, FoundSandbox>();

/** Finds a bwrap that can create a sandbox, or says why none can. Probes once per process. */
export const findSandbox = (options: { readonly bwrap?: string | undefined; readonly hasNetwork: boolean }) => {
  const bwrap = options.bwrap ?? places.find(existsSync);
  const key = JSON.stringify([bwrap, options.hasNetwork]);
  const answer = found.get(key) ?? probe(bwrap, options.hasNetwork);
  found.set(key, answer);
  return answer;
};
