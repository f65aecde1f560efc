/** Links in Markdown lead somewhere, the reference is what the code says, and every environment variable is in the table. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { environment } from '../src/cli/parse/environment.ts';
import { anchorsOf, withoutCode } from './markdown.ts';
import { readFiles } from './read-files.ts';
import type { Page } from './reference/page.ts';
import { pages } from './reference/pages.ts';
import { reportProblems } from './report-problems.ts';

type Texts = ReadonlyMap<string, string>;

const linkForms = [
  /\]\(\s*<([^>]*)>/g,
  /\]\(\s*([^\s<>)]+)/g,
  /^ {0,3}\[[^\]]+\]:\s*(\S+)/gm,
  /<[^>]+\b(?:href|src)="([^"]*)"/g,
];
const linksIn = (text: string): readonly string[] => {
  const read = withoutCode(text);
  return linkForms.flatMap((form) => [...read.matchAll(form)].map(([, target]) => String(target)));
};

const isElsewhere = (link: string): boolean => /^(https?|mailto):/i.test(link);
const isOfMachine = (link: string): boolean => /^(\/|\\|~|file:|[a-z]:[\\/])/i.test(link);

const linkProblem = (page: string, link: string, pages: Texts, exists: (path: string) => boolean): string[] => {
  if (isElsewhere(link)) return [];
  if (isOfMachine(link)) return [`${page} links to ${link}, a place of some machine: write it from the page on`];
  const [, file = '', anchor] = /^([^#?]*)\??[^#]*(?:#(.*))?$/.exec(link)!;
  const target = file === '' ? page : posix.join(posix.dirname(page), decodeURIComponent(file));
  if (target.startsWith('..')) return [`${page} links to ${link}, outside the repository`];
  if (!exists(target)) return [`${page} links to ${link}, which is not there`];
  if (!anchor || !pages.has(target) || anchorsOf(pages.get(target)!).has(decodeURIComponent(anchor))) return [];
  return [`${page} links to ${link}, and ${target} has no such heading`];
};

export const findLinkProblems = (pages: Texts, exists: (path: string) => boolean): string[] =>
  [...pages].flatMap(([page, text]) => linksIn(text).flatMap((link) => linkProblem(page, link, pages, exists)));

export const findStalePages = (made: readonly Page[], written: Texts): string[] => {
  const stale = made.filter(({ path, render }) => written.get(path) !== render());
  const known = new Set(made.map(({ path }) => path));
  return [
    ...stale.map(({ path }) => `${path} is not what the code says: run npm run reference`),
    ...[...written.keys()].filter((path) => !known.has(path)).map((path) => `${path} is made by no page: remove it`),
  ];
};

/** In code and in what it says to people. A name that ends in an underscore is the beginning of several. */
const variableForms = [
  /\benv\??\.([A-Z][A-Z0-9_]*)\b/g,
  /\{([^{}]*)\} = process\.env\b/g,
  /\b((?:PERDURE|OTEL|ANTHROPIC|OPENAI)_[A-Z0-9_]*)/g,
];
/** Set for commands, and never read. */
const given = new Set(['PERDURE_COMMAND']);

const namesIn = (text: string): readonly string[] =>
  variableForms
    .flatMap((form) =>
      [...text.matchAll(form)].flatMap(([, names]) => String(names).match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []),
    )
    .filter((name) => !given.has(name));

export const findVariableProblems = (sources: Texts, known: readonly string[]): string[] => {
  const isKnown = (name: string) =>
    known.some((each) => each === name || (name.endsWith('_') && each.startsWith(name)));
  return [...sources].flatMap(([path, text]) =>
    [...new Set(namesIn(text))]
      .filter((name) => !isKnown(name))
      .map((name) => `${path} reads ${name}, which src/cli/parse/environment.ts does not name`),
  );
};

/** By `files` of package.json: a path is in the package with all that is in it, and with a `!` before it is not. */
export const packedOf = (paths: readonly string[], entries: readonly string[]): readonly string[] => {
  const isIn = (path: string, entry: string): boolean => path === entry || path.startsWith(`${entry}/`);
  const without = entries.filter((entry) => entry.startsWith('!')).map((entry) => entry.slice(1));
  return paths.filter(
    (path) => entries.some((entry) => isIn(path, entry)) && !without.some((entry) => isIn(path, entry)),
  );
};

/** What a clone has, and what is about to be added. */
const listTracked = (): readonly string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
    .split('\0')
    .filter((path) => path !== '' && existsSync(path));

const foldersOf = (path: string): readonly string[] =>
  path === '.' ? [path] : [path, ...foldersOf(posix.dirname(path))];

const holds = (paths: readonly string[]) => {
  const places = new Set(paths.flatMap(foldersOf));
  return (path: string): boolean => places.has(path.replace(/\/$/, ''));
};

const textsOf = (paths: readonly string[]): Texts =>
  new Map(paths.filter((path) => path.endsWith('.md')).map((path) => [path, readFileSync(path, 'utf8')]));

if (import.meta.main) {
  const tracked = listTracked();
  const packed = packedOf(tracked, manifest.files);
  const texts = textsOf(tracked);
  const sources = [...readFiles('src/**/*.ts')].filter(([path]) => !path.endsWith('.test.ts'));
  const names = Object.values(environment).flatMap(Object.keys);
  reportProblems('docs', `${texts.size} pages, links lead somewhere, ${pages.length} of the reference are up to date`, [
    ...findLinkProblems(texts, holds(tracked)),
    ...findLinkProblems(textsOf(packed), holds(packed)).map((problem) => `in the package, ${problem}`),
    ...findStalePages(pages, readFiles('docs/reference/*')),
    ...findVariableProblems(new Map(sources), names),
  ]);
}
