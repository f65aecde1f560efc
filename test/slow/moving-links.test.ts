import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Tool } from '../../src/core/ports/tool.ts';
import type { Json } from '../../src/schema/json.ts';
import {
  defineShellTool,
  editTool,
  keepTool,
  listTool,
  readTool,
  searchTool,
  writeTool,
} from '../../src/tools/index.ts';
import { newToolContext, useTool } from '../support/runs/tool-context.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/** Exchanges a folder and a link to another place as fast as the kernel can: renameat2 with RENAME_EXCHANGE. */
const swapping = `exec perl -e '
  $| = 1; print "swapping\\n"; ($a, $b) = ("door", "link");
  for (;;) { syscall(316, -100, $a, -100, $b, 2) }'`;

/** A session whose sandboxed command exchanges its folder `door` with a link to the folder of a secret. */
const start = async () => {
  // Not in /tmp, which a sandbox replaces.
  const host = await realpath(await mkdtemp('/var/tmp/perdure-moving-'));
  undo.push(() => rm(host, { recursive: true, force: true, maxRetries: 3 }));
  const path = (...names: string[]) => join(host, ...names);
  for (const folder of ['files/door', 'tmp', 'records', 'outside']) {
    mkdirSync(path(folder), { recursive: true, mode: 0o700 });
  }
  writeFileSync(path('outside/key'), 'SECRET of the worker');
  writeFileSync(path('files/door/key'), 'own text');
  symlinkSync('../outside', path('files/link'));
  const stop = new AbortController();
  const shell = defineShellTool({ recordsFolder: path('records'), graceMs: 0, sandbox: 'required' });
  const isSwapping = Promise.withResolvers<void>();
  const context = newToolContext(path('files'), {
    temporary: path('tmp'),
    signal: stop.signal,
    progress: (text) => void (text.includes('swapping') && isSwapping.resolve()),
  });
  const command = useTool(shell, { command: swapping, timeoutMs: 60_000 }, context);
  command.catch(isSwapping.reject);
  undo.push(async () => {
    stop.abort();
    await command.catch(() => undefined);
  });
  await isSwapping.promise;
  return { path };
};

const rounds = 3000;

test.runIf(process.platform === 'linux' && process.arch === 'x64').for([
  ['read', readTool, { path: 'door/key' }],
  ['keep', keepTool, { path: 'door/key' }],
  ['list', listTool, { path: 'door' }],
  ['search', searchTool, { path: 'door', pattern: '.' }],
  ['write', writeTool, { path: 'door/key', content: 'own text' }],
  ['write', writeTool, { path: 'door/new/deep', content: 'own text' }],
  ['edit', editTool, { path: 'door/key', old: 't', new: 't t', all: true }],
] as const satisfies readonly (readonly [string, Tool, Json])[])(
  '[TOOL29] %s stays in the folder while a command exchanges a folder and a link',
  { timeout: 120_000 },
  async ([name, tool, input]) => {
    const { path } = await start();
    const got: string[] = [];
    for (let round = 0; round < (name === 'search' ? rounds / 10 : rounds); round++) {
      const keepArtifact = async (_: string, bytes: Uint8Array) => void got.push(Buffer.from(bytes).toString());
      const context = newToolContext(path('files'), { keepArtifact });
      const result = await useTool(tool, input, context).catch(() => '');
      got.push(JSON.stringify(result));
    }
    expect(got.filter((each) => each.includes('SECRET'))).toEqual([]);
    expect(readFileSync(path('outside/key'), 'utf8')).toBe('SECRET of the worker');
    expect(readdirSync(path('outside'))).toEqual(['key']);
  },
);
