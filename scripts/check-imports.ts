/**
 * Checks which folder may import which, as ARCHITECTURE.md draws it. Also rejects cycles, and imports that npm would
 * not install.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { readFiles } from './read-files.ts';
import { reportProblems } from './report-problems.ts';

interface Part {
  /** The paths that a part may import besides its own. Folders end in a slash; `dir/*` means the files directly in it. */
  mayImport: string[];
  /** Paths from which only types may be imported, by `import type`, so that no import remains at run time. */
  mayImportTypes?: string[];
  /** Safe in a browser: no `node:` modules. */
  browser?: true;
}

const schema = 'src/schema/';
const ports = 'src/core/ports/';
const session = 'src/core/session/';
const files = 'src/core/files/';
const processes = 'src/core/process-identity.ts';
const folders = 'src/core/make-folder.ts';
const fileProblems = 'src/core/file-problem.ts';
const unfinished = 'src/core/unfinished-files.ts';
const service = 'src/core/service/';
const core: Part = { mayImport: [schema, 'src/core/'] };
const edge: Part = { mayImport: [schema, service] };
const behindPort: Part = { mayImport: [schema, ports] };
const store: Part = { mayImport: [schema, ports, session, folders, fileProblems, unfinished, 'src/stores/*'] };
const everything: Part = { mayImport: ['src/'] };

/** The most specific entry decides. */
const parts: Record<string, Part> = {
  [schema]: { mayImport: [], browser: true },
  [session]: { mayImport: [schema, ports] },
  [ports]: { mayImport: [schema] },
  [service]: core,
  'src/core/run/': core,
  [processes]: { mayImport: [] },
  [folders]: { mayImport: [] },
  [fileProblems]: { mayImport: [folders] },
  [unfinished]: { mayImport: [] },
  [files]: { mayImport: [schema, ports, folders, fileProblems, `${session}redact.ts`] },
  'src/stores/': store,
  'src/stores/sqlite/': store,
  'src/stores/postgres/': store,
  'src/models/': behindPort,
  'src/tools/': { mayImport: [schema, ports, files, processes] },
  'src/servers/': { mayImport: [schema, service, ports, `${files}content-bytes.ts`, 'src/runtime.ts'] },
  'src/adapters/': edge,
  'src/importers/': edge,
  // Of the core, rules that need nothing but the schema.
  'src/client/': {
    mayImport: [schema, `${session}commit-record.ts`, `${session}patch-between.ts`, `${service}end-at-once.ts`],
    mayImportTypes: ['src/core/'],
    browser: true,
  },
  'src/testing/': { mayImport: [schema, ports, session, 'src/stores/*'] },
  'src/cli/': {
    mayImport: ['src/client/', 'src/servers/', schema, service, folders, fileProblems, unfinished, 'src/runtime.ts'],
  },
  // A program like those of users, who import `perdure` and `perdure/tools`.
  'src/cli/config/': {
    mayImport: [
      'src/cli/',
      schema,
      service,
      'src/runtime.ts',
      'src/index.ts',
      'src/tools/index.ts',
      // The rules by which the runtime refuses options, before it is opened.
      `${session}agent.ts`,
      'src/models/check-models.ts',
      'src/stores/parse-store.ts',
    ],
  },
  'src/runtime.ts': everything,
  'src/index.ts': everything,
  'dashboard/': { mayImport: [schema, 'src/client/'], browser: true },
};

const typesForm = /^\s*(?:import|export) type\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm;
const importForms = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]/g,
];
const unbuiltUrl = /new URL\(\s*['"](\.[^'"]+\.ts)['"]\s*,\s*import\.meta\.url/g;

const matchesOf = (text: string, form: RegExp) => [...text.matchAll(form)].map(([, to]) => String(to));
const listImports = (text: string) => importForms.flatMap((form) => matchesOf(text, form));
/** The imports that remain at run time. */
export const listValueImports = (text: string) => listImports(text.replace(typesForm, ''));
const packageOf = (specifier: string) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
const isLocal = (specifier: string) => specifier.startsWith('.');
const targetOf = (path: string, specifier: string) => posix.join(posix.dirname(path), specifier);

function covers(pattern: string, path: string): boolean {
  if (pattern.endsWith('/*')) return posix.dirname(path) === pattern.slice(0, -2);
  return pattern.endsWith('/') ? path.startsWith(pattern) : path === pattern;
}

function partOf(path: string): string | undefined {
  return Object.keys(parts)
    .filter((part) => covers(part, path))
    .sort((a, b) => b.length - a.length)[0];
}

function findFileProblems(path: string, text: string, installed: ReadonlySet<string>): string[] {
  const name = partOf(path);
  const part = name && parts[name];
  if (!part) return [`${path} belongs to no part: add it to the table in scripts/check-imports.ts`];
  const problems: string[] = [];
  const values = new Set(listValueImports(text));
  for (const specifier of new Set(listImports(text))) {
    const target = targetOf(path, specifier);
    if (isLocal(specifier)) {
      const types = values.has(specifier) ? [] : (part.mayImportTypes ?? []);
      const allowed = [name, ...part.mayImport, ...types, 'package.json'].some((pattern) => covers(pattern, target));
      if (!allowed) problems.push(`${path} may not import ${target}`);
    } else if (specifier.startsWith('node:')) {
      if (part.browser) problems.push(`${path} may not import ${specifier}: it runs in browsers too`);
    } else if (name === schema && packageOf(specifier) !== 'zod') {
      problems.push(`${path} may not import ${specifier}: the only package allowed here is zod`);
    } else if (!installed.has(packageOf(specifier)) && path.startsWith('src/')) {
      problems.push(`${path} imports ${specifier}, which is not a dependency of the published package`);
    }
  }
  for (const [, url] of text.matchAll(unbuiltUrl)) {
    problems.push(`${path} names ${url} by URL, which the build cannot rename: use the extension of import.meta.url`);
  }
  return problems;
}

/** Searches depth first. Each cycle is reported once, from the file where the search met it. */
function findCycles(files: ReadonlyMap<string, string>): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]) => {
    if (trail.includes(path)) cycles.push(`cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`);
    if (trail.includes(path) || done.has(path)) return;
    for (const specifier of listImports(files.get(path) ?? '')) {
      if (isLocal(specifier)) visit(targetOf(path, specifier), [...trail, path]);
    }
    done.add(path);
  };
  for (const path of files.keys()) visit(path, []);
  return cycles;
}

export function findImportProblems(files: ReadonlyMap<string, string>, installed: ReadonlySet<string>): string[] {
  const sources = new Map([...files].filter(([path]) => !/\.test\.tsx?$/.test(path)));
  return [...[...sources].flatMap(([path, text]) => findFileProblems(path, text, installed)), ...findCycles(sources)];
}

if (import.meta.main) {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const files = readFiles('{src,dashboard}/**/*.{ts,tsx}');
  const installed = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
  reportProblems('imports', `${files.size} files, directions kept, no cycles`, findImportProblems(files, installed));
}
