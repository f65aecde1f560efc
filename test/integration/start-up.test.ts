import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { moduleUrl } from '../support/cli/run-script.ts';

const run = promisify(execFile);

/**
 * Runs a script and parses its output. In the script, `found` holds the packages loaded so far, directly or
 * indirectly.
 */
const outputOf = async (script: string) => {
  const hooked = `
    import { registerHooks } from 'node:module';
    const found = new Set();
    registerHooks({
      load(url, context, next) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
        if (name) found.add(name);
        return next(url, context);
      },
    });
    ${script}`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', hooked]);
  return JSON.parse(stdout);
};

test.each([
  ['src/index.ts', 'a program that only imports the library'],
  ['src/stores/sqlite/thread/serve-reads.ts', 'the thread that opens a SQLite database'],
  ['src/stores/sqlite/index.ts', 'the event loop of a program on SQLite'],
])('%s loads no package: %s starts quickly', async (path) => {
  const script = `await import(${moduleUrl(path)}); console.log(JSON.stringify([...found]));`;
  expect(await outputOf(script)).toEqual([]);
});

test('[MODEL8] only the requested provider is loaded, when it is first used', async () => {
  const { before, after } = await outputOf(`
    const { resolveModels } = await import(${moduleUrl('src/models/resolve-model.ts')});
    const resolve = resolveModels({ env: { ANTHROPIC_API_KEY: 'k' } });
    await resolve('scripted/demo');
    const before = [...found];
    await resolve('anthropic/claude-sonnet-5');
    console.log(JSON.stringify({ before, after: [...found] }));`);
  expect(before).toEqual([]);
  expect(after).toContain('@ai-sdk/anthropic');
  expect(after).not.toContain('@ai-sdk/openai');
});

test('opening a store loads no network module, which saves four fifths of the time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-start-up-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const loaded = await outputOf(`
    const { openRuntime } = await import(${moduleUrl('src/index.ts')});
    const runtime = await openRuntime({ store: 'sqlite:${join(folder, 'perdure.db')}' });
    await runtime.sessions.open();
    await runtime.close();
    console.log(JSON.stringify(process.moduleLoadList));`);
  expect(loaded).toContain('NativeModule sqlite');
  expect(loaded).not.toContain('NativeModule http');
  expect(loaded).not.toContain('NativeModule internal/deps/undici/undici');
});
