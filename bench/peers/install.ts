import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

const versionOf = (name: string): string | undefined => {
  const manifest = `${folder}node_modules/${name}/package.json`;
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')).version as string) : undefined;
};

const { dependencies, overrides } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as Record<
  'dependencies' | 'overrides',
  Record<string, string>
>;
const wanted = Object.entries({ ...dependencies, ...overrides });

/** Installs the packages of the peers, which only this bench needs. None of them runs an install script. */
export const installPeers = (progress: (what: string) => void): void => {
  if (wanted.every(([name, version]) => versionOf(name) === version)) return;
  progress('installing the peers: npm ci --prefix bench/peers (about 250 MB)');
  execFileSync('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
};

export const peerVersions = (): readonly string[] => wanted.map(([name]) => `${name} ${versionOf(name) ?? '-'}`);
