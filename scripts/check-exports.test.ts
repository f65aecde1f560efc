import { expect, test } from 'vitest';
import { type Disk, findExportProblems, listEntries, type Manifest } from './check-exports.ts';

const manifest: Manifest = {
  bin: { perdure: 'bin/perdure' },
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './testing': { types: './dist/testing/index.d.ts', default: './dist/testing/index.js' },
    './package.json': './package.json',
  },
  files: ['bin', 'dist', 'README.md', '!bin/own'],
};
const everything = [
  './package.json',
  'bin',
  'bin/own',
  'bin/perdure',
  'README.md',
  'src/index.ts',
  'src/testing/index.ts',
];
const diskWith = (paths: string[], executable = true): Disk => ({
  exists: (path) => paths.includes(path),
  isExecutable: () => executable,
});

test('existing sources, command and files are fine', () => {
  expect(findExportProblems(manifest, diskWith(everything))).toEqual([]);
  expect(listEntries(manifest)).toEqual(['src/index.ts', 'src/testing/index.ts']);
});

test.each([
  ['src/testing/index.ts', ['./testing has no source src/testing/index.ts']],
  ['./package.json', ['./package.json leads to ./package.json, which is missing']],
  ['bin/perdure', ['the command bin/perdure is missing']],
  ['README.md', ['"files" lists README.md, which is missing']],
])('without %s there is a problem', (path, problems) => {
  expect(findExportProblems(manifest, diskWith(everything.filter((other) => other !== path)))).toEqual(problems);
});

test('a command that is not executable, a target outside dist and missing types are problems', () => {
  expect(findExportProblems(manifest, diskWith(everything, false))).toEqual([
    'the command bin/perdure is not executable',
  ]);
  const exports = { '.': { default: './src/index.ts' } };
  expect(findExportProblems({ ...manifest, exports }, diskWith(everything))).toEqual([
    '. needs "types", then "default"',
    '. leads to ./src/index.ts, outside dist',
  ]);
});
