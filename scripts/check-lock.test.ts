import { expect, test } from 'vitest';
import { findLockProblems, type Lock } from './check-lock.ts';

const manifest = { name: 'perdure', version: '0.0.1', dependencies: { pg: '^8.23.0' } };
const tool = {
  version: '2.0.0',
  optionalDependencies: { 'tool-linux': '2.0.0', 'tool-darwin': '2.0.0', loose: '^1.0.0' },
};
const packages: Lock['packages'] = {
  '': manifest,
  'node_modules/tool': tool,
  'node_modules/tool-linux': { version: '2.0.0' },
  'node_modules/tool/node_modules/tool-darwin': { version: '2.0.0' },
};

test('a lock file that matches package.json, is complete and names no registry passes', () => {
  expect(findLockProblems(manifest, { packages })).toEqual([]);
});

test('a missing platform package is a problem', () => {
  const { 'node_modules/tool-linux': _, ...rest } = packages;
  expect(findLockProblems(manifest, { packages: rest })).toEqual([
    'node_modules/tool lacks its optional tool-linux@2.0.0',
  ]);
});

test('a registry address is a problem', () => {
  const bound = { ...packages, 'node_modules/pg': { version: '8.23.0', resolved: 'https://registry.example/pg.tgz' } };
  expect(findLockProblems(manifest, { packages: bound })).toEqual([
    'node_modules/pg is bound to the address https://registry.example/pg.tgz',
  ]);
});

test('a lock file of another version or with other dependencies is a problem', () => {
  expect(findLockProblems({ ...manifest, version: '0.0.2', dependencies: {} }, { packages })).toEqual([
    '"version" differs between package.json and the lock: run npm install',
    '"dependencies" differs between package.json and the lock: run npm install',
  ]);
});
