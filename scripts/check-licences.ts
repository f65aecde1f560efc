/** Checks that every package npm installs with this one has an allowed licence, and that NOTICE names it. */
import { readFileSync } from 'node:fs';
import { reportProblems } from './report-problems.ts';

export type Packages = Record<string, { license?: string; dev?: boolean; devOptional?: boolean }>;

const allowed = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD'];
const isAllowed = (licence: string) =>
  licence
    .replace(/^\((.+)\)$/, '$1')
    .split(' OR ')
    .some((each) => allowed.includes(each));

/** The name and licence of each installed package, sorted. */
const installed = (packages: Packages) =>
  Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path, { license = 'none' }]) => ({ name: path.split('node_modules/').at(-1)!, licence: license }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

/** The expected text of NOTICE, with one line for each licence. */
export function noticeOf(packages: Packages): string {
  const byLicence = Map.groupBy(installed(packages), ({ licence }) => licence);
  const lines = [...byLicence].map(
    ([licence, all]) => `${licence}: ${[...new Set(all.map(({ name }) => name))].join(', ')}\n`,
  );
  return lines.sort().join('');
}

export function findLicenceProblems(packages: Packages, notice: string): string[] {
  const wrong = installed(packages).filter(({ licence }) => !isAllowed(licence));
  const problems = wrong.map(({ name, licence }) => `${name} has the licence "${licence}", which is not allowed`);
  if (!notice.endsWith(noticeOf(packages))) {
    problems.push(`NOTICE must end with the list of installed packages:\n${noticeOf(packages)}`);
  }
  return problems;
}

if (import.meta.main) {
  const { packages }: { packages: Packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const problems = findLicenceProblems(packages, readFileSync('NOTICE', 'utf8'));
  reportProblems('licences', `${installed(packages).length} packages, all allowed and named`, problems);
}
