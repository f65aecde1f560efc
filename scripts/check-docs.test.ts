import { expect, test } from 'vitest';
import { findLinkProblems, findStalePages, findVariableProblems, packedOf } from './check-docs.ts';

const there = new Set(['README.md', 'docs', 'docs/guide.md', 'docs/pictures/log.svg', 'src/index.ts']);
const linksOf = (page: string, text: string) =>
  findLinkProblems(
    new Map([
      [page, text],
      ['docs/guide.md', '# A guide\n\n## What it `does`, twice\n\n## What it does twice\n\n<a id="by-hand"></a>\n'],
    ]),
    (path) => there.has(path),
  );

test('[DOC3] links that lead somewhere are fine', () => {
  const text = [
    '# Here',
    '[own](#here) [guide](docs/guide.md) [part](docs/guide.md#what-it-does-twice)',
    '[again](docs/guide.md#what-it-does-twice-1) [hand](docs/guide.md#by-hand) [folder](docs)',
    '![picture](docs/pictures/log.svg "The log") <img src="docs/pictures/log.svg"> [code](src/index.ts#L3)',
    '[web](https://example.org/x#y) [mail](mailto:a@example.org)',
    '[by name][guide]',
    '',
    '[guide]: docs/guide.md',
  ].join('\n');
  expect(linksOf('README.md', text)).toEqual([]);
});

test.each([
  ['[x](gone.md)', 'README.md links to gone.md, which is not there'],
  ['![x](docs/pictures/gone.svg)', 'README.md links to docs/pictures/gone.svg, which is not there'],
  ['<img src="gone.png">', 'README.md links to gone.png, which is not there'],
  ['[x]: gone.md', 'README.md links to gone.md, which is not there'],
  ['[x](#gone)', 'README.md links to #gone, and README.md has no such heading'],
  ['[x](docs/guide.md#gone)', 'README.md links to docs/guide.md#gone, and docs/guide.md has no such heading'],
  ['[x](/srv/guide.md)', 'README.md links to /srv/guide.md, a place of some machine: write it from the page on'],
  ['[x](file:///a)', 'README.md links to file:///a, a place of some machine: write it from the page on'],
  ['[x](../other/a.md)', 'README.md links to ../other/a.md, outside the repository'],
])('[DOC3] %s is a problem', (text, problem) => {
  expect(linksOf('README.md', text)).toEqual([problem]);
});

test('[DOC3] the package holds what its files name, but for what they leave out', () => {
  const paths = ['README.md', 'bench/README.md', 'docs/a.md', 'docsy.md', 'examples/1.ts', 'examples/own/a.ts'];
  const packed = packedOf(paths, ['README.md', 'docs', 'examples', '!examples/own']);
  expect(packed).toEqual(['README.md', 'docs/a.md', 'examples/1.ts']);
});

test('[DOC3] links are read from where their page is, and not in code or comments', () => {
  expect(linksOf('docs/other.md', '[up](../README.md) [beside](guide.md)')).toEqual([]);
  expect(linksOf('README.md', '`[x](gone)`\n\n```md\n[x](gone)\n# Not a heading\n```\n\n<!-- [x](gone) -->')).toEqual(
    [],
  );
});

test('[DOC3] a page that the code would write otherwise, or that nothing writes, is a problem', () => {
  const page = { path: 'docs/reference/a.md', render: () => 'new' };
  expect(findStalePages([page], new Map([[page.path, 'new']]))).toEqual([]);
  const stale = 'docs/reference/a.md is not what the code says: run npm run reference';
  expect(findStalePages([page], new Map())).toEqual([stale]);
  expect(
    findStalePages(
      [page],
      new Map([
        [page.path, 'old'],
        ['docs/reference/b.md', ''],
      ]),
    ),
  ).toEqual([stale, 'docs/reference/b.md is made by no page: remove it']);
});

test.each([
  ['const a = env.SHELL_NAME;', 'SHELL_NAME'],
  ['const { HOME_OF, PERDURE_STORE } = process.env;', 'HOME_OF'],
  ["const keyName = 'OPENAI_ORG';", 'OPENAI_ORG'],
  ['`set PERDURE_OTHER`', 'PERDURE_OTHER'],
])('[DOC3] %s reads a variable that has to be in the table', (text, name) => {
  const known = ['PERDURE_STORE', 'PERDURE_PROVIDER_NAME_API_KEY'];
  const fine = 'env.PERDURE_STORE; PERDURE_PROVIDER_ + name; env.lower; context.env.outgoing';
  expect(findVariableProblems(new Map([['src/a.ts', fine]]), known)).toEqual([]);
  expect(findVariableProblems(new Map([['src/a.ts', `${fine}\n${text}`]]), known)).toEqual([
    `src/a.ts reads ${name}, which src/cli/parse/environment.ts does not name`,
  ]);
});
