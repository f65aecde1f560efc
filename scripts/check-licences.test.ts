import { expect, test } from 'vitest';
import { findLicenceProblems, noticeOf, type Packages } from './check-licences.ts';

const packages: Packages = {
  '': { license: 'Apache-2.0' },
  'node_modules/pg': { license: 'MIT' },
  'node_modules/diff': { license: 'BSD-3-Clause' },
  'node_modules/pg/node_modules/pg-types': { license: 'MIT' },
  'node_modules/either': { license: '(GPL-3.0 OR MIT)' },
  'node_modules/tests': { license: 'GPL-3.0', dev: true },
};

test('a notice that names every installed package with its licence passes', () => {
  expect(noticeOf(packages)).toBe('(GPL-3.0 OR MIT): either\nBSD-3-Clause: diff\nMIT: pg, pg-types\n');
  expect(findLicenceProblems(packages, `Perdure\n\n${noticeOf(packages)}`)).toEqual([]);
});

test('a licence that is missing or not allowed is a problem; development dependencies are exempt', () => {
  const more = { ...packages, 'node_modules/viral': { license: 'AGPL-3.0' }, 'node_modules/silent': {} };
  expect(findLicenceProblems(more, noticeOf(more))).toEqual([
    'silent has the licence "none", which is not allowed',
    'viral has the licence "AGPL-3.0", which is not allowed',
  ]);
});

test('a notice that lacks a package is a problem, reported with the expected text', () => {
  expect(findLicenceProblems(packages, 'MIT: pg\n')).toEqual([
    `NOTICE must end with the list of installed packages:\n${noticeOf(packages)}`,
  ]);
});
