import { execFile } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { entryNames } from '../../scripts/build.ts';
import { olderNode } from '../support/cli/older-node.ts';
import { blocksOf } from '../support/docs/blocks.ts';
import { createDatabase } from '../support/postgres/postgres.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json');
const peers = Object.keys(manifest.peerDependencies);
let project: string;
let packed: { path: string; mode: number }[];

const run = async (command: string, ...args: string[]): Promise<string> => {
  const env = { ...process.env, TMPDIR: project };
  const { stdout } = await promisify(execFile)(command, args, { cwd: project, env, maxBuffer: 2 ** 26 });
  return stdout;
};
const write = (name: string, ...lines: string[]): string => {
  writeFileSync(join(project, name), lines.join('\n'));
  return name;
};
/** Links a package as npm would install it, without the network. */
const link = (name: string) => {
  const place = join(project, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(checkout, 'node_modules', name), place);
};

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'perdure-package-'));
  const report = await run('npm', 'pack', checkout, '--json', '--loglevel=error');
  const [{ filename, files }] = JSON.parse(report.slice(report.indexOf('[')));
  packed = files;
  write('package.json', '{ "private": true, "type": "module" }');
  await run('npm', 'install', `./${filename}`, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error');
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('the tarball', () => {
  const papers = ['README.md', 'ARCHITECTURE.md', 'CONTEXT.md', 'SPEC.md', 'CHANGELOG.md', 'LICENSE', 'NOTICE'];

  const isPart = (path: string) => path.startsWith('dist/parts/');
  const codeOf = () =>
    packed.flatMap(({ path }) =>
      /^dist\/.*\.js$/.test(path) ? [[path, readFileSync(join(checkout, path), 'utf8')] as const] : [],
    );

  test('holds the command, the types of every source, the imported and spawned modules, the documents and the licence files, and nothing else', () => {
    const sources = globSync('src/**/*.ts', { cwd: checkout }).filter((path) => !path.endsWith('.test.ts'));
    const types = sources.map((path) => path.replace(/^src/, 'dist').replace(/\.ts$/, '.d.ts'));
    const built = [...types, ...entryNames().map((name) => `dist/${name}.js`)];
    const docs = globSync('docs/**/*.{md,svg,json}', { cwd: checkout });
    const examples = globSync('examples/{*.{md,ts,py},07-many-workers/*.ts}', { cwd: checkout });
    const expected = ['bin/package.json', 'bin/perdure', 'package.json', ...papers, ...built, ...docs, ...examples];
    const paths = packed.map(({ path }) => path);
    expect(paths.filter((path) => !isPart(path)).sort()).toEqual(expected.sort());
  });

  test('holds no unused module', () => {
    const named = new Set(
      codeOf().flatMap(([path, code]) =>
        [...code.matchAll(/["'](\.[^"']+\.js)["']/g)].map(([, to]) => posix.join(posix.dirname(path), to!)),
      ),
    );
    expect(packed.filter(({ path }) => isPart(path) && !named.has(path))).toEqual([]);
  });

  test('holds the files of the threads and processes that it starts', () => {
    const started = codeOf().flatMap(([path, code]) =>
      [...code.matchAll(/new URL\(`(\.[^`$]*)\$\{extname\(new URL\("([^"]+)"/g)].map(([, name, place]) =>
        posix.join(posix.dirname(path), place!, '..', `${name}.js`),
      ),
    );
    expect(started).toHaveLength(6);
    expect(started.filter((to) => !packed.some(({ path }) => path === to))).toEqual([]);
  });

  test('has an executable command', () => {
    expect(packed.find(({ path }) => path === manifest.bin.perdure)!.mode & 0o111).toBe(0o111);
  });

  test('holds every file that its own documents link to', () => {
    const paths = new Set(packed.map(({ path }) => path));
    const missing = [...paths]
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) => {
        const text = readFileSync(join(checkout, path), 'utf8');
        const targets = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)|src="([^"]+)"/g)].map(([, to, src]) => to ?? src!);
        return targets.map((to) => (/^\w+:/.test(to) ? to : posix.join(posix.dirname(path), to)));
      })
      .filter(
        (to) =>
          !/^\w+:/.test(to) && ![...paths].some((path) => path === to || path.startsWith(`${to.replace(/\/$/, '')}/`)),
      );
    expect(missing).toEqual([]);
  });

  test('states its description and the required Node version', () => {
    expect(manifest).toMatchObject({ license: 'Apache-2.0', engines: { node: '>=24' }, sideEffects: false });
    expect(readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8')).toContain(`\n## ${manifest.version}\n`);
    const [description, keywords] = [manifest.description, manifest.keywords];
    expect([description.length > 20, keywords.length > 3]).toEqual([true, true]);
  });
});

describe.concurrent('installed into an empty project, without optional packages', () => {
  test('[CLI2, CLI30] fails in a program run by an older Node with a message that names the required version', async () => {
    const script = `import { openRuntime } from 'perdure';
      await openRuntime({ store: 'sqlite:old/perdure.db' }).catch(({ message }) => console.log(message));`;
    const [node, ...options] = olderNode(project);
    expect(await run(node!, ...options, write('old.mjs', script))).toMatch(
      /^perdure needs Node 24 or newer, this is v\d+\.\d+\.\d+: get it from https:\/\/nodejs.org or with "npm install/,
    );
  });

  test("provides the command, which reads agents from the project's configuration", async () => {
    expect((await run('npx', '--no-install', 'perdure', '--version')).trim()).toBe(manifest.version);
    copyFileSync(join(checkout, 'examples', 'perdure.config.ts'), join(project, 'perdure.config.ts'));
    expect(await run('npx', '--no-install', 'perdure', 'send', '--new', 'hello')).toMatch(/I am the demo script/);
  });

  test('runs the demo', async () => {
    expect(await run('npx', '--no-install', 'perdure', 'demo')).toMatch(
      /✓ every event carries the hash of the one before it/,
    );
  });

  describe('its examples, copied out as their README says', () => {
    const folder = join(checkout, 'examples');
    const listed = readdirSync(folder).filter((name) => /^\d\d-.*\.ts$/.test(name));
    beforeAll(async () => {
      symlinkSync(process.execPath, join(project, 'node_modules', '.bin', 'node')); // stands in for what node@24 would install
      const blocks = blocksOf(
        'README.md',
        readFileSync(join(project, 'node_modules/perdure/examples/README.md'), 'utf8'),
      );
      const [said] = blocks.filter(({ code }) => code.startsWith('cp -r node_modules/perdure/examples'));
      expect(await run('bash', '-ec', said!.code)).toMatch(/Its hash chain holds/);
    });

    test.each(listed)('%s runs', async (name) => {
      expect(await run('node', `examples/${name}`)).not.toBe('');
    });

    test('the many-workers example runs on the PostgreSQL it is given, and without one says what it needs', async () => {
      const many = join('examples', '07-many-workers', 'main.ts');
      const database = await createDatabase();
      const out = await run('env', `PERDURE_STORE=${database.url}`, 'node', many).finally(database.drop);
      expect(out).toMatch(/6 runs succeeded/);
      const refused = await run('node', many).catch((error) => error);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toMatch(/needs a PostgreSQL.*\nPERDURE_STORE=postgres:/);
    });
  });

  test('every entry point except testing loads, by import and by require', async () => {
    const parts = entries.filter((entry) => entry !== './testing').map((entry) => posix.join('perdure', entry));
    const load = `for (const part of ${JSON.stringify(parts)}) await import(part);`;
    expect(await run('node', write('imported.js', load, 'console.log("all");'))).toBe('all\n');
    const required = write('required.cjs', 'console.log(typeof require("perdure").openRuntime);');
    expect(await run('node', required)).toBe('function\n');
  });

  test('a running program continues when the files of the package are replaced', async () => {
    const copy = join(project, 'node_modules', 'replaced');
    cpSync(join(project, 'node_modules', 'perdure'), copy, { recursive: true });
    const script = `
      import { rmSync } from 'node:fs';
      import * as intact from 'perdure';
      import * as replaced from 'replaced';
      const open = async ({ openRuntime, defineAgent }) => {
        const agent = defineAgent({ name: 'demo', version: 1, model: 'scripted/demo' });
        const runtime = await openRuntime({ store: 'sqlite:replaced/perdure.db', agents: [agent], worker: false });
        return { runtime, agent };
      };
      const { runtime } = await open(replaced);
      await runtime.worker().start();
      await (await runtime.sessions.open()).tree(); // after this, both threads of the store have started
      rmSync(${JSON.stringify(join(copy, 'dist'))}, { recursive: true });
      const { runtime: sender, agent } = await open(intact);
      const session = await sender.sessions.open({ agent });
      console.log((await (await session.send('hello')).result()).status);
      await Promise.all([sender.close(), runtime.close()]);`;
    expect(await run('node', write('replaced.js', script))).toBe('succeeded\n');
  });

  test('the client contains no Node module', async () => {
    const input = join(project, 'node_modules', 'perdure', 'dist', 'client', 'index.js');
    const bundle = await rolldown({ input, platform: 'browser', external: /^node:/ });
    const { output } = await bundle.generate();
    expect(output.flatMap((file) => (file.type === 'chunk' ? file.imports : []))).toEqual([]);
  });

  test('an entry point that needs a missing package says which', async () => {
    const script = `
      import { startTracing } from 'perdure/observe';
      import { mcpTools } from 'perdure/tools';
      const tell = ({ message }) => console.log(message);
      await mcpTools({ name: 'files', command: 'node' }).catch(tell);
      await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, tell);`;
    expect(await run('node', write('lacking.js', script))).toMatch(
      /@modelcontextprotocol\/client.*\n.*@opentelemetry\//,
    );
  });
});

describe('its types are complete and strict', () => {
  const resolutions = {
    nodenext: ['--module', 'nodenext'],
    bundler: ['--module', 'esnext', '--moduleResolution', 'bundler'],
  };
  const tsc = join(checkout, 'node_modules', 'typescript', 'bin', 'tsc');
  const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--ignoreConfig'];

  /**
   * A program that uses each import, so that none is dropped, and contains deliberate type errors that must be found.
   */
  const typed = `
    ${entries.map((entry, index) => `import * as part${index} from '${posix.join('perdure', entry)}';`).join('\n')}
    import { openRuntime } from 'perdure';
    export const parts = [${entries.map((_, index) => `part${index}`).join(', ')}];
    export const runtime = openRuntime({ store: 'sqlite:a.db' });
    // @ts-expect-error a store is an address or a store
    export const wrong = openRuntime({ store: 1 });`;

  /**
   * A program that checks that the types of an agent reach its sessions, runs and clients through the packed
   * declarations.
   */
  const agentProgram = `
    import { type Agent, defineAgent, defineTool, type Runtime, type Session } from 'perdure';
    import type { Client } from 'perdure/client';
    import { z } from 'zod';
    const shop = defineAgent({
      name: 'shop',
      version: 1,
      state: z.object({ status: z.enum(['draft', 'placed']), note: z.string().optional() }),
      initial: { status: 'draft' },
      output: z.object({ count: z.string().transform(Number) }),
      tools: [defineTool({ name: 'add', input: z.object({ count: z.number() }), execute: ({ count }) => count + 1 })],
    });
    export const agents: readonly Agent[] = [shop];
    // @ts-expect-error a state schema has no default
    export const wrong = defineAgent({ name: 'shop', version: 1, state: z.object({ port: z.number().default(80) }) });
    export const play = async (runtime: Runtime, client: Client, log: (session: Session) => void): Promise<number> => {
      const session = await runtime.sessions.open({ agent: shop });
      log(session);
      const fork = await (await runtime.sessions.get<typeof shop>(session.id)).fork();
      const status: 'draft' | 'placed' = (await fork.state()).own.status;
      await fork.commit(({ own }) => {
        own.status = 'placed';
        // @ts-expect-error 'lost' is not a status
        own.status = 'lost';
      });
      const afar = await client.sessions.open<typeof shop>({ agent: 'shop' });
      const result = await (await afar.send(status)).result();
      // @ts-expect-error only a run that succeeded has an output
      result.output;
      if (result.status === 'failed') return result.error.code.length;
      return result.status === 'succeeded' ? result.output.count : 0;
    };`;

  beforeAll(() => {
    for (const name of ['@types/node', ...peers]) link(name);
  });

  test.each(Object.entries(resolutions))('for %s, of an agent and everything it is used for', async (_, options) => {
    const program = write('agent-program.ts', agentProgram);
    const check = run('node', tsc, ...strict, ...options, '--lib', 'es2022', '--types', 'node', program);
    expect(await check.catch(({ stdout }) => stdout)).toBe('');
  });

  test.each(Object.entries(resolutions))('for %s, of every entry point', async (_, options) => {
    const check = run(
      'node',
      tsc,
      ...strict,
      ...options,
      '--lib',
      'es2022',
      '--types',
      'node',
      write('typed.ts', typed),
    );
    expect(await check.catch(({ stdout }) => stdout)).toBe('');
  });

  test('for browsers, of the client, which needs no Node types', async () => {
    const client = write(
      'client.ts',
      `import { connect } from 'perdure/client';`,
      'export const { sessions } = connect({ url: "", key: "" });',
    );
    const check = run('node', tsc, ...strict, ...resolutions.bundler, '--lib', 'es2022,dom', '--types', '', client);
    expect(await check.catch(({ stdout }) => stdout)).toBe('');
  });
});
