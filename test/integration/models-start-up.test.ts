import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** The packages that are loaded by and by, each time `step` of the script calls `note`. */
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
  const { resolveModels } = await import(${JSON.stringify(new URL('../../src/models/resolve-model.ts', import.meta.url).href)});
  const resolve = resolveModels({ env: { ANTHROPIC_API_KEY: 'k' } });
  await resolve('scripted/demo');
  const before = [...found];
  await resolve('anthropic/claude-sonnet-5');
  console.log(JSON.stringify({ before, after: [...found] }));
`;

test('[MODEL8] a provider and no other is loaded when it is first asked', async () => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  const { before, after } = JSON.parse(stdout);
  expect(before).toEqual([]);
  expect(after).toContain('@ai-sdk/anthropic');
  expect(after).not.toContain('@ai-sdk/openai');
});
