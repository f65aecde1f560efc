/**
 * Checks which folders may import which, as ARCHITECTURE.md defines it. Also rejects cycles, and imports of packages
 * that npm would not install.
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
  /** Must run in a browser: no `node:` modules. */
  browser?: true;
}

const schema = 'src/schema/';
/** Code that does not depend on sessions: every part but the schema may import it. */
const concurrency = 'src/concurrency/';
const core = (room: string) => `src/core/${room}/`;
const cli = (room: string) => `src/cli/${room}/`;
const stores = (room: string) => `src/stores/${room}/`;
const [ports, session, host, files] = [core('ports'), core('session'), core('host'), core('files')];
const below = [schema, ports, session, host, files];
const engine = core('engine');

/** A room above the engine: it may import everything below, the engine, and the rooms that are named. */
const room = (...rooms: string[]): Part => ({ mayImport: [...below, engine, ...rooms.map(core)] });

const storeBase = [
  schema,
  ports,
  session,
  host,
  'src/stores/*',
  stores('codec'),
  stores('log'),
  stores('queue'),
  stores('waking'),
];
const storePart = (...rooms: string[]): Part => ({ mayImport: [...storeBase, ...rooms.map(stores)] });

/**
 * A room of the CLI. It may import only types of the core, because commands use the handles of the runtime and the
 * client.
 */
const cliRoom = (rooms: string[], mayImport: string[] = []): Part => ({
  mayImport: [schema, host, 'src/client/', 'src/runtime.ts', ...rooms.map(cli), ...mayImport],
  mayImportTypes: ['src/core/', 'src/servers/'],
});
const everything: Part = { mayImport: ['src/'] };

/**
 * The parts and their allowed imports. The most specific entry applies. Within a group, an entry imports only entries
 * above it.
 */
const parts: Record<string, Part> = {
  [schema]: { mayImport: [], browser: true },
  [concurrency]: { mayImport: [], browser: true },

  [ports]: { mayImport: [schema] },
  [session]: { mayImport: [schema, ports] },
  [host]: { mayImport: [] },
  [files]: { mayImport: [schema, ports, host, `${session}redaction/redact.ts`] },
  [engine]: { mayImport: below },
  [core('access')]: room(),
  [core('vault')]: room(),
  [core('webhooks')]: room('access', 'vault'),
  [core('state')]: room(),
  [core('context')]: room('state'),
  [core('tracking')]: room(),
  [core('maintenance')]: room(),
  [core('bundles')]: room('maintenance'),
  [core('session-files')]: room('state'),
  [core('sessions')]: room('session-files', 'maintenance'),
  [core('runs')]: room('context', 'sessions'),
  [core('worker')]: room('context', 'maintenance', 'session-files', 'sessions', 'runs'),
  [core('runtime')]: { mayImport: [schema, 'src/core/'] },

  'src/stores/*': { mayImport: [schema, ports, session, host] },
  [stores('codec')]: { mayImport: [schema, ports, session, 'src/stores/*'] },
  [stores('log')]: { mayImport: [schema, ports, session, 'src/stores/*', stores('codec')] },
  [stores('queue')]: { mayImport: [schema, ports, session, 'src/stores/*'] },
  [stores('waking')]: { mayImport: [schema, ports, 'src/stores/*', stores('queue')] },
  [stores('sqlite/file')]: storePart(),
  [stores('sqlite/queue')]: storePart('sqlite/file'),
  [stores('sqlite/log')]: storePart('sqlite/file', 'sqlite/queue'),
  [stores('sqlite/thread')]: storePart('sqlite/file', 'sqlite/queue', 'sqlite/log'),
  [stores('sqlite')]: storePart(),
  [stores('postgres/server')]: storePart(),
  [stores('postgres/queue')]: storePart('postgres/server'),
  [stores('postgres/log')]: storePart('postgres/server', 'postgres/queue'),
  [stores('postgres')]: storePart(),

  'src/models/': { mayImport: [schema, ports] },
  'src/tools/': { mayImport: [schema, ports, files, host] },
  'src/servers/': { mayImport: [schema, 'src/core/', 'src/runtime.ts'] },
  'src/client/': {
    // Rules of the core that need nothing but the schema.
    mayImport: [schema, `${session}state/commit-record.ts`, `${session}state/patch-between.ts`],
    mayImportTypes: ['src/core/'],
    browser: true,
  },
  'src/testing/': {
    mayImport: [schema, ports, session, 'src/stores/*', stores('codec'), stores('log'), stores('queue')],
  },

  // Commands are described by types of every room, so `parse` may name those types.
  [cli('parse')]: { ...cliRoom([]), mayImportTypes: ['src/core/', 'src/cli/'] },
  [cli('terminal')]: cliRoom(['parse']),
  [cli('names')]: cliRoom(['parse', 'terminal']),
  // Built like the programs of users, who import `perdure` and `perdure/tools`. It also needs the rules by which the
  // runtime refuses options.
  [cli('config')]: cliRoom(
    ['parse', 'terminal'],
    [
      `${session}agent.ts`,
      `${session}model-infos.ts`,
      'src/index.ts',
      'src/tools/index.ts',
      'src/models/check-models.ts',
      'src/models/resolve-model.ts',
      'src/stores/parse-store.ts',
    ],
  ),
  [cli('files')]: cliRoom(['parse', 'terminal'], [`${core('session-files')}file-path.ts`]),
  [cli('render')]: cliRoom(['parse', 'terminal', 'names', 'config']),
  [cli('backing')]: {
    ...cliRoom(['parse', 'terminal', 'names', 'config'], ['src/servers/']),
    mayImportTypes: ['src/core/', `${cli('dispatch')}parse-call.ts`],
  },
  [cli('runs')]: cliRoom(['parse', 'terminal', 'names', 'config', 'render']),
  [cli('serve')]: cliRoom(['parse', 'terminal', 'names', 'config', 'render', 'runs']),
  [cli('demo')]: cliRoom(['parse', 'terminal', 'config', 'render']),
  [cli('doctor')]: cliRoom(['parse', 'config'], ['src/tools/shell/sandbox-report.ts']),
  [cli('commands')]: cliRoom(
    ['parse', 'terminal', 'names', 'config', 'files', 'render', 'backing', 'runs', 'serve', 'demo', 'doctor'],
    [
      'src/servers/',
      'src/tools/shell/sandbox-report.ts',
      'src/stores/release.ts',
      `${core('bundles')}import-bundle.ts`,
      `${core('bundles')}verify-bundle.ts`,
    ],
  ),
  [cli('completion')]: cliRoom(['parse', 'terminal', 'names', 'render', 'commands']),
  [cli('dispatch')]: cliRoom(['parse', 'terminal', 'names', 'render', 'backing', 'commands', 'completion']),
  'src/cli/*': cliRoom(['parse', 'terminal', 'config', 'render', 'runs', 'serve', 'dispatch']),

  'src/runtime.ts': everything,
  'src/verify-bundle.ts': everything,
  'src/index.ts': everything,
};

/** Finds entries of the table that no file belongs to. They must be removed when their last file is removed. */
export const findEmptyParts = (paths: readonly string[]): string[] =>
  Object.keys(parts)
    .filter((part) => !paths.some((path) => partOf(path) === part))
    .map((part) => `${part} is in the table of scripts/check-imports.ts, but no file belongs to it`);

const typesForm = /^\s*(?:import|export) type\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm;
const importForms = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]/g,
];
const reExport = /^export\b[^'"`;=]*?\bfrom\s*['"]([^'"]+)['"]/gm;
const unbuiltUrl = /new URL\(\s*['"](\.[^'"]+\.ts)['"]\s*,\s*import\.meta\.url/g;

const matchesOf = (text: string, form: RegExp) => [...text.matchAll(form)].map(([, to]) => String(to));
export const listImports = (text: string) => importForms.flatMap((form) => matchesOf(text, form));
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
      const always = ['package.json', ...(name === schema ? [] : [concurrency])];
      const allowed = [name, ...part.mayImport, ...types, ...always].some((pattern) => covers(pattern, target));
      if (!allowed) problems.push(`${path} may not import ${target}`);
    } else if (specifier.startsWith('node:')) {
      if (part.browser) problems.push(`${path} may not import ${specifier}: it runs in browsers too`);
    } else if (name === schema && packageOf(specifier) !== 'zod') {
      problems.push(`${path} may not import ${specifier}: the only package allowed here is zod`);
    } else if (!installed.has(packageOf(specifier)) && path.startsWith('src/')) {
      problems.push(`${path} imports ${specifier}, which is not a dependency of the published package`);
    }
  }
  if (posix.basename(path) !== 'index.ts') {
    for (const from of matchesOf(text, reExport)) {
      problems.push(`${path} re-exports ${from}: let importers name the real source`);
    }
  }
  for (const [, url] of text.matchAll(unbuiltUrl)) {
    problems.push(`${path} names ${url} by URL, which the build cannot rename: use the extension of import.meta.url`);
  }
  return problems;
}

/** Searches depth first. Each cycle is reported once, starting at the file where the search entered it. */
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
  const files = readFiles('src/**/*.ts');
  const installed = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
  reportProblems('imports', `${files.size} files, directions kept, no cycles`, findImportProblems(files, installed));
}
