import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newToolContext, useTool } from '../../../test/support/runs/tool-context.ts';
import { emptyState } from '../../schema/state.ts';
import { findSandbox } from './find-sandbox.ts';
import { defineShellTool, type ShellOptions } from './shell-tool.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-bwrap-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const nowhere = '/nowhere/bwrap';

/** A bwrap that counts its calls and always fails. */
const brokenBwrap = (): string => {
  const path = join(folder, 'bwrap');
  writeFileSync(path, `#!/bin/sh\necho asked >>${folder}/asked\necho 'bwrap: no namespaces for you' >&2\nexit 1\n`);
  chmodSync(path, 0o700);
  return path;
};

const define = (options: ShellOptions) => {
  const tool = defineShellTool({ recordsFolder: join(folder, 'records'), ...options });
  const asksFirst = async () => (await tool.approvalFor({ command: 'true' }, { state: emptyState })) !== undefined;
  return { tool, asksFirst };
};

test('[TOOL17] the sandbox is probed once with and once without a filter, and the result says why there is none', () => {
  const bwrap = brokenBwrap();
  const problem = `${bwrap} cannot make a sandbox on this host: bwrap: no namespaces for you`;
  expect(findSandbox({ bwrap, hasNetwork: false })).toEqual({ problem });
  expect(findSandbox({ bwrap, hasNetwork: false })).toEqual({ problem });
  expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe('asked\nasked\n');
  expect(findSandbox({ bwrap: nowhere, hasNetwork: false })).toEqual({
    problem: expect.stringContaining('package bubblewrap'),
  });
});

test('[TOOL17] defining a shell tool does not probe the sandbox', () => {
  define({ bwrap: brokenBwrap() });
  expect(() => readFileSync(join(folder, 'asked'))).toThrow('ENOENT');
});

test('[TOOL19] without a sandbox, commands need approval by default, and people and the model are warned', async () => {
  const { tool, asksFirst } = define({ bwrap: nowhere });
  expect(await asksFirst()).toBe(true);
  expect(tool.description).toContain('without a sandbox');
  expect(tool.caution).toMatch(/^commands run without a sandbox: bwrap is not installed/);
  expect(await useTool(tool, { command: 'echo x' }, newToolContext(folder))).toMatchObject({
    output: 'x\n',
    sandboxed: false,
  });
  expect(await define({ sandbox: 'off' }).asksFirst()).toBe(true);
});

test('[TOOL19, TOOL21] where no sandbox works, no rule of the author replaces the approval, unless the sandbox is off', async () => {
  for (const approval of [false, () => false]) {
    for (const bwrap of [nowhere, brokenBwrap()]) {
      expect(await define({ bwrap, approval }).asksFirst()).toBe(true);
      expect(define({ bwrap, approval }).tool.confinement).toBe('open');
    }
    expect(await define({ sandbox: 'off', approval }).asksFirst()).toBe(false);
  }
  const rule = { roles: ['admin'] as const, notRequester: true };
  const { tool } = define({ bwrap: nowhere, approval: rule });
  expect(await tool.approvalFor({ command: 'true' }, { state: emptyState })).toEqual(rule);
});

test('[TOOL17] no command runs if the required sandbox is missing', async () => {
  const { tool, asksFirst } = define({ bwrap: nowhere, sandbox: 'required' });
  expect(await asksFirst()).toBe(false);
  expect(tool.caution).toContain('no command runs');
  const context = newToolContext(folder);
  await expect(useTool(tool, { command: 'echo x' }, context)).rejects.toMatchObject({
    name: 'SandboxUnavailable',
    message: expect.stringContaining('not installed'),
  });
  expect(await tool.reconcile!({ command: '' } as never, context)).toMatchObject({ outcome: 'unknown' });
});

test('[IN1] invalid options are rejected', () => {
  for (const options of [
    { sandbox: 'none' },
    { sandbox: false },
    { limits: { memory: 1 } },
    { limits: { processes: 0 } },
    { net: true },
  ]) {
    expect(() => defineShellTool(options as never)).toThrow('the tool shell cannot be used');
  }
});
