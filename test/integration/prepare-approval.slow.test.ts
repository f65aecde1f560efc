import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { defineAgent, defineScript, openRuntime } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/index.ts';
import { defineShellTool, type ShellOptions } from '../../src/tools/index.ts';
import { eventsOf, newFolder, startRunFiles } from '../support/files/start-run-files.ts';
import { storeKinds } from '../support/stores/stores.ts';

/** A bwrap that cannot make a sandbox, as on a host without user namespaces. */
const failingBwrap = async (): Promise<string> => {
  const path = join(await newFolder(), 'bwrap');
  writeFileSync(path, "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n");
  chmodSync(path, 0o700);
  return path;
};

/** A session with a script that a member uploaded, and an agent that runs it to prepare the files. */
const start = async (kind: (typeof storeKinds)[number], shell: ShellOptions) => {
  const [source, outside] = [await newFolder(), await newFolder()];
  const mark = join(outside, 'ran');
  writeFileSync(join(source, 'setup.sh'), `echo "$1" >>${mark}`);
  const started = await startRunFiles(kind, { prepare: 'sh setup.sh once', files: { from: source }, shell });
  const { runtime, session } = started;
  const waiting = async () => {
    const run = await session.send('look');
    await started.work();
    return run;
  };
  const asked = async () => (await runtime.approvals.list())[0];
  const prepared = async () => (await eventsOf(session, 'files.prepared')).map(({ payload }) => payload.output);
  return { ...started, waiting, asked, prepared, hasRun: () => existsSync(mark) };
};

describe.each(storeKinds)('prepare without a working sandbox, on %s', (kind) => {
  test('[TOOL21] the uploaded script does not run before a person approves it', async () => {
    const bwrap = kind === 'sqlite' ? '/nowhere/bwrap' : await failingBwrap();
    const { runtime, waiting, asked, prepared, hasRun, work } = await start(kind, { bwrap, approval: false });
    const run = await waiting();
    expect(await run.status()).toMatchObject({ status: 'waiting' });
    expect(hasRun()).toBe(false);
    const approval = await asked();
    expect(approval).toMatchObject({ tool: 'shell', prepares: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(approval!.summary).toMatch(/^prepare the files: sh setup\.sh once \(commands run without a sandbox/);
    await runtime.approvals.approve(approval!.id);
    await work();
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    expect(hasRun()).toBe(true);
    expect(await prepared()).toEqual(['']);
  });

  test('[TOOL21, TOOL22] an approval does not count for other files, and a denied command never runs', async () => {
    const { runtime, session, waiting, asked, prepared, hasRun, work } = await start(kind, { bwrap: '/nowhere/bwrap' });
    const run = await waiting();
    const first = await asked();
    await session.files.write('setup.sh', 'echo another script');
    await runtime.approvals.approve(first!.id);
    await work();
    const second = await asked();
    expect(second).toMatchObject({ tool: 'shell' });
    expect([second!.id, second!.prepares]).not.toEqual([first!.id, first!.prepares]);
    await runtime.approvals.deny(second!.id, { comment: 'not this one' });
    await work();
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    expect(await prepared()).toEqual([expect.stringMatching(/^not run: denied by .*: not this one$/)]);
    expect(hasRun()).toBe(false);
    // A denied command is not asked about again in the same worktree.
    expect(await (await waiting()).result()).toMatchObject({ status: 'succeeded' });
  });

  test('[TOOL22] an approval that expires refuses the command, and the run continues', async () => {
    const approval = { expiresInMs: 1 };
    const { waiting, prepared, hasRun, work } = await start(kind, { bwrap: '/nowhere/bwrap', approval });
    const run = await waiting();
    const statusAfterWork = async () => {
      await work();
      return (await run.status()).status;
    };
    await expect.poll(statusAfterWork, { timeout: 20_000 }).toBe('succeeded');
    expect(await prepared()).toEqual(['not run: expired']);
    expect(hasRun()).toBe(false);
  });
});

const agentWith = (shell: ShellOptions) =>
  defineAgent({
    name: 'open',
    version: 1,
    model: defineScript({ name: 'test', steps: [{ text: 'Done.' }] }),
    tools: [defineShellTool(shell)],
  });

test('[TOOL23] a sandbox that is off is warned of when a worker can start, once', async () => {
  vi.stubEnv('PERDURE_ALLOW_ROOT', '1');
  onTestFinished(() => void vi.unstubAllEnvs());
  const warnings: unknown[] = [];
  const open = (worker: boolean, shell: ShellOptions) =>
    openRuntime({
      store: openMemoryStore(),
      agents: [agentWith(shell)],
      worker,
      onWarning: (problem) => warnings.push(String(problem)),
    });
  await using runtime = await open(false, { sandbox: 'off' });
  expect(warnings).toEqual([]);
  runtime.worker();
  runtime.worker();
  const warning = expect.stringContaining(
    "the sandbox is off for open: commands can do whatever the worker's user can",
  );
  expect(warnings).toEqual([warning]);
  await (await open(true, { sandbox: 'off' })).close();
  expect(warnings).toEqual([warning, warning]);
  await (await open(true, { sandbox: 'auto' })).close();
  expect(warnings).toHaveLength(2);
});

test('[TOOL23] root needs PERDURE_ALLOW_ROOT=1 to work without a sandbox', async () => {
  vi.stubEnv('PERDURE_ALLOW_ROOT', '');
  const root = vi.spyOn(process, 'getuid').mockReturnValue(0);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    root.mockRestore();
  });
  const open = (more: { worker?: boolean; shell?: ShellOptions } = {}) =>
    openRuntime({
      store: openMemoryStore(),
      agents: [agentWith(more.shell ?? { sandbox: 'off' })],
      worker: more.worker ?? true,
      onWarning: () => undefined,
    });
  await expect(open()).rejects.toMatchObject({
    code: 'ROOT_REFUSED',
    message: expect.stringContaining('PERDURE_ALLOW_ROOT=1'),
  });
  await using reader = await open({ worker: false });
  expect(() => reader.worker()).toThrow('would run as root');
  await (await open({ shell: { sandbox: 'auto' } })).close();
  root.mockReturnValue(1000);
  await (await open()).close();
});
