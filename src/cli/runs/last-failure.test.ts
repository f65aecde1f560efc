import { expect, test } from 'vitest';
import { z } from 'zod';
import { callCli } from '../../../test/support/cli/call-cli.ts';
import { scriptedModel } from '../../../test/support/runs/scripted-model.ts';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { defineAgent, defineTool, openRuntime } from '../../index.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { demoAgent } from '../config/demo-agent.ts';

const look = defineTool({ name: 'look', input: z.object({}), execute: () => 'seen' });
const { name, version } = demoAgent;

/** A session whose first run exceeds its step limit. */
const failed = async () => {
  const model = scriptedModel([{ id: 'c1', tool: 'look', input: {} }]);
  const agents = [defineAgent({ name, version, model, tools: [look], policies: { maxSteps: 1 } })];
  const store = overrideStore(openMemoryStore(), { close: async () => {} });
  const call = (...argv: readonly string[]) =>
    callCli([...argv, '--store', 'memory'], { openRuntime: (options) => openRuntime({ ...options, agents, store }) });
  const id = (await call('open', '--agent', name)).out.trim();
  expect(await call('send', id, 'hello')).toMatchObject({ code: 1 });
  return { id, call };
};

test('[CLIR26] a session whose last run failed is shown with the error code until it continues', async () => {
  const { id, call } = await failed();
  expect((await call('show', id)).out).toMatch(/\nthe last run failed MAX_STEPS: \S/);
  expect(await call('send', id, 'go on')).toMatchObject({ code: 0 });
  expect((await call('show', id)).out).not.toContain('the last run');
});

test('[CLIR11] a rewind removes the failure from view', async () => {
  const { id, call } = await failed();
  expect(await call('rewind', id, '--to', '0')).toMatchObject({ code: 0 });
  expect((await call('show', id)).out).not.toContain('the last run');
});
