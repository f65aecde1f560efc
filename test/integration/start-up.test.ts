import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** The packages that a module loads, directly or through others, before anything of it is called. */
const packagesOf = async (path: string): Promise<readonly string[]> => {
  const script = `
    import { registerHooks } from 'node:module';
    const found = new Set();
    registerHooks({
      load(url, context, next) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
        if (name) found.add(name);
        return next(url, context);
      },
    });
    await import(${JSON.stringify(new URL(`../../${path}`, import.meta.url).href)});
    console.log(JSON.stringify([...found]));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  return JSON.parse(stdout);
};

test.each([
  ['src/index.ts', 'a program that only imports the library'],
  ['src/stores/sqlite/serve-reads.ts', 'the thread that opens a SQLite database'],
  ['src/stores/sqlite/index.ts', 'the event loop of a program on SQLite'],
])('%s loads no package: %s starts quickly', async (path) => {
  expect(await packagesOf(path)).toEqual([]);
});
