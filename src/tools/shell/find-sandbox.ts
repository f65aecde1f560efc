import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { sandboxArguments } from './sandbox.ts';
import { shellPath } from './shell-script.ts';

export type FoundSandbox = { readonly bwrap: string } | { readonly problem: string };

/** Fixed places. PATH is not searched, because it may lead into a folder that commands can write to. */
const places = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/run/current-system/sw/bin/bwrap'];
const maxProbeMs = 10_000;

const probe = (bwrap: string | undefined, hasNetwork: boolean): FoundSandbox => {
  if (!bwrap || !existsSync(bwrap)) return { problem: 'bwrap is not installed (package bubblewrap)' };
  const folders = { folder: tmpdir(), temporary: tmpdir(), readable: [], hidden: [] };
  const args = sandboxArguments({ bwrap, ...folders, hasNetwork }, {});
  const { status, stderr, error } = spawnSync(bwrap, [...args, '--', shellPath(), '-c', '/usr/bin/env -0'], {
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    timeout: maxProbeMs,
  });
  if (status === 0) return { bwrap };
  const why = error?.message ?? (stderr.trim().split('\n')[0] || `it ended with ${status}`);
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
