import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readFiles } from '../../scripts/read-files.ts';
import { environment } from '../support/cli/perdure-command.ts';
import { type Block, blocksOf, inPlace, piecesOf } from '../support/docs/blocks.ts';
import { startCommandsHere } from '../support/docs/commands-here.ts';
import { packageSources } from '../support/docs/package-sources.ts';
import { putPrograms, runProgram, runShell } from '../support/docs/run-shell.ts';
import { createDatabase, type TestDatabase } from '../support/postgres/postgres.ts';
import { freePort } from '../support/servers/free-port.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const here = (name: string) => fileURLToPath(new URL(`../support/docs/${name}`, import.meta.url));
/**
 * Whether a page is generated. Pages such as docs/reference are checked by `npm run check:docs`, and their commands
 * by command-examples.test.ts.
 */
const isGenerated = (text: string) => text.startsWith('<!-- Generated');
const files = [...readFiles('README.md', 'docs/**/*.md')].filter(([, text]) => !isGenerated(text));
const blocks = files.flatMap(([file, text]) => blocksOf(file, text));
const commands = blocks.filter(({ language, needs }) => language === 'sh' && needs === undefined);
const byFile = Map.groupBy(commands, ({ file }) => file);
const pieces = piecesOf(blocks.filter(({ language }) => language === 'ts'));
const nameOf = ([{ file, line }]: readonly [Block, ...Block[]]) => `${file.replaceAll('/', '-')}-${line}.ts`;

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 }); // processes, perhaps on a busy machine
let root: string;
let database: TestDatabase;
let typed: ReturnType<typeof checkTypes>;
const before = process.cwd();
const own = { ...process.env };

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'perdure-docs-'));
  typed = checkTypes();
  database = await createDatabase();
});
afterAll(async () => {
  process.chdir(before);
  process.env = own;
  rmSync(root, { recursive: true, force: true });
  await database.drop();
});

const folderFor = (file: string): string => {
  const folder = join(root, file.replaceAll('/', '-'));
  mkdirSync(folder);
  return folder;
};

/**
 * Runs code of a document in a new folder, with its own port and database in place of those that the document names.
 */
const runDocument = async (file: string, code: string) => {
  const cwd = folderFor(file);
  putPrograms(cwd);
  const port = await freePort();
  const script = code
    .replaceAll('4730', String(port))
    .replaceAll('postgres://perdure:secret@localhost:5432/perdure', database.url);
  const asked = join(root, 'script.sh');
  writeFileSync(asked, script);
  const begin = `set -eo pipefail; trap 'echo "$BASH_COMMAND: failed in ${file}:$LINENO"' ERR; trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT`;
  return runShell('bash', `${begin}; source '${asked}'`, { cwd, socket: join(root, 'socket') });
};

/** Declares the names that program fragments may use without defining them. */
const known = `
import type { Runtime, Session } from 'perdure';
declare global {
  const runtime: Runtime;
  const session: Session;
  const branch: Session;
}
`;

/**
 * Checks the types of all code in the documents. It starts first and is awaited last, because it takes as long as all
 * the rest and uses its own core.
 */
const checkTypes = () => {
  const folder = folderFor('types');
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'known.ts'), known);
  for (const piece of pieces) writeFileSync(join(folder, nameOf(piece)), inPlace(piece));
  const { compilerOptions } = JSON.parse(readFileSync(join(checkout, 'tsconfig.json'), 'utf8'));
  const paths = Object.fromEntries(Object.entries(packageSources).map(([name, url]) => [name, [fileURLToPath(url)]]));
  const options = { ...compilerOptions, paths, noUnusedLocals: false, noUnusedParameters: false };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
  return runProgram(join(checkout, 'node_modules/.bin/tsc'), ['-p', folder, '--singleThreaded'], { cwd: folder });
};

test('[DOC1] every code block has a language that some test checks', () => {
  const kinds = new Set(blocks.map(({ language }) => language));
  expect([...kinds].sort()).toEqual(['json', 'sh', 'ts']);
  const fences =
    files
      .map(([, text]) => text)
      .join('\n')
      .match(/^\s*(```|~~~)/gm) ?? [];
  expect(fences).toHaveLength(2 * blocks.length);
});

test('[DOC1, DOC4] blocks that are not executed say why, and no others are left out', () => {
  const left = blocks.filter(({ needs }) => needs !== undefined).map(({ file, needs }) => `${file}: ${needs}`);
  expect(left).toEqual([
    'README.md: a fresh checkout',
    'README.md: a minute',
    "docs/guides/back-up.md: pg_dump and psql of the server's release, and a superuser",
    'docs/guides/embed.md: a person at a terminal',
    'docs/soak.md: an hour',
    'docs/webhooks.md: a receiver',
  ]);
});

test('[DOC5] commands contain no comments except the marks of examples, because an interactive zsh would pass them as arguments', () => {
  const quoted = /'[^']*'|"(?:\\.|[^"\\])*"/g;
  const mark = / {2}# (needs .+|until Ctrl-C)$/;
  const lines = [...readFiles('**/*.md')]
    .flatMap(([file, text]) => blocksOf(file, text))
    .filter(({ language }) => language === 'sh' || language === 'text')
    .flatMap(({ file, line, language, code }) =>
      code.split('\n').map((each, index) => {
        const written = language === 'text' ? each.replace(mark, '') : each;
        return `${file}:${line + index}: ${written.replaceAll(quoted, '""')}`;
      }),
    );
  expect(lines.length).toBeGreaterThan(300);
  expect(lines.filter((line) => /\s#/.test(line))).toEqual([]);
});

test('[DOC1] no executed command has a placeholder to fill in', () => {
  expect(commands.filter(({ code }) => /_…|<[a-z]+>/.test(code)).map(({ file, line }) => `${file}:${line}`)).toEqual(
    [],
  );
});

describe('[DOC1] every command of the documents runs', () => {
  let answering: Awaited<ReturnType<typeof startCommandsHere>>;
  beforeAll(async () => {
    answering = await startCommandsHere(join(root, 'socket'));
  });
  afterAll(() => answering.stop());

  test.each([...byFile])('%s', async (file, its) => {
    const { code, output } = await runDocument(file, inPlace(its));
    expect(code, output).toBe(0);
  });
});

describe('[DOC2] every program of the documents', () => {
  test.each(pieces.filter(([{ isProgram }]) => isProgram).map((piece) => [nameOf(piece), piece] as const))(
    '%s runs',
    async (name, piece) => {
      const folder = folderFor(`program-${name}`);
      const port = await freePort();
      writeFileSync(join(folder, 'program.ts'), inPlace(piece).replaceAll('4730', String(port)));
      const { code, output } = await runProgram(
        process.execPath,
        ['--import', here('import-sources.ts'), 'program.ts'],
        {
          cwd: folder,
          env: environment,
        },
      );
      expect(code, output).toBe(0);
    },
  );

  test('fits the types', async () => {
    expect(await typed).toEqual({ code: 0, output: '' });
  });
});
