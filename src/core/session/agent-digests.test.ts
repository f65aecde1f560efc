import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineScript } from '../../models/script.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { defineShellTool } from '../../tools/index.ts';
import { type AgentDefinition, defineAgent } from './agent.ts';
import { bindingOf, changedParts } from './agent-digests.ts';

const search = (description: string, change: { approval?: boolean; timeoutMs?: number; secrets?: string[] } = {}) =>
  defineTool({ name: 'search', description, input: z.object({}), execute: () => 1, ...change });
const script = (text: string) => defineScript({ steps: [{ text }] });

const agent = (change: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'coder', model: 'openai/a', instructions: 'Code.', tools: [search('Searches.')], ...change });

const changedBy = (change: Partial<AgentDefinition>) => changedParts(bindingOf(agent()), agent(change));

test.each<[Partial<AgentDefinition>, readonly string[]]>([
  [{}, []],
  [{ instructions: 'Code well.' }, ['instructions']],
  [{ model: 'openai/b' }, ['model']],
  [{ model: ['openai/a'] }, []],
  [{ model: ['openai/a', 'openai/b'] }, ['model']],
  [{ initial: { count: 1 } }, ['initial']],
  [{ settings: { temperature: 1 } }, ['settings']],
  [{ output: z.object({ done: z.boolean() }) }, ['output']],
  [{ policies: { maxSteps: 2 } }, ['policies']],
  [{ policies: { budget: { tokens: 9 } } }, ['policies']],
  [{ policies: { onModelFailure: 'fallback', maxModelWaitMs: 1_800_000 } }, []],
  [{ policies: { onModelFailure: 'wait' } }, ['policies']],
  [{ policies: { maxModelWaitMs: 1 } }, ['policies']],
  [{ state: z.record(z.string(), z.number()) }, ['state']],
  [{ tools: [search('Finds.')] }, ['tools.search']],
  [{ tools: [search('Searches.', { approval: true })] }, ['tools.search']],
  [{ tools: [search('Searches.', { timeoutMs: 5 })] }, ['tools.search']],
  [{ tools: [search('Searches.', { secrets: ['TOKEN'] })] }, ['tools.search']],
  [{ tools: [] }, ['tools.search']],
  [{ instructions: 'x', tools: [search('Finds.')] }, ['instructions', 'tools.search']],
])('[AGT4] a definition with %j differs in %j', (change, parts) => {
  expect(changedBy(change)).toEqual(parts);
});

test('[AGT4] a script with other steps is another model', () => {
  const bound = bindingOf(agent({ model: script('One.') }));
  expect(changedParts(bound, agent({ model: script('One.') }))).toEqual([]);
  expect(changedParts(bound, agent({ model: script('Two.') }))).toEqual(['model']);
});

test('[AGT4, FALL1] a fallback script with other steps, and another order of models, are other models', () => {
  const bound = bindingOf(agent({ model: ['openai/a', script('One.')] }));
  expect(changedParts(bound, agent({ model: ['openai/a', script('One.')] }))).toEqual([]);
  expect(changedParts(bound, agent({ model: ['openai/a', script('Two.')] }))).toEqual(['model']);
  expect(changedParts(bound, agent({ model: [script('One.'), 'openai/a'] }))).toEqual(['model']);
});

test.each<[NonNullable<AgentDefinition['model']>, RegExp]>([
  [[], /the list is empty/],
  [['openai/a', 'openai/a'], /openai\/a occurs twice/],
  [[script('One.'), script('Two.')], /scripted\/script occurs twice/],
  [Array.from({ length: 21 }, (_, n) => `openai/${n}`), /21 models, but 20 at most/],
])('[FALL1] a list of models that a run could not tell apart is rejected (%#)', (model, problem) => {
  expect(() => agent({ model })).toThrow(problem);
});

test.each<[object, RegExp]>([
  [{ onModelFailure: 'retry' }, /onModelFailure: expected fallback, wait, fail, got "retry"/],
  [{ maxModelWaitMs: -1 }, /maxModelWaitMs: expected milliseconds from 0, got -1/],
  [{ maxModelWaitMs: Number.NaN }, /maxModelWaitMs/],
  [{ maxModelWaitMs: '5' }, /maxModelWaitMs/],
])('[FALL6, FALL8] a policy for model failures that does not exist is rejected: %j', (policies, problem) => {
  expect(() => agent({ policies })).toThrow(problem);
});

test('[AGT4] a description that depends on the host is not part of the digest', () => {
  const [here, elsewhere] = [defineShellTool({ sandbox: 'off' }), defineShellTool({ sandbox: 'required' })];
  expect(here.description).not.toBe(elsewhere.description);
  expect(changedParts(bindingOf(agent({ tools: [here] })), agent({ tools: [elsewhere] }))).toEqual([]);
});

test('[AGT5] more than 100 tools have one digest together, and a long list of changes is cut', () => {
  const tools = (count: number, description: string) =>
    Array.from({ length: count }, (_, n) => ({ ...search(description), name: `search-${n}` }));
  const many = agent({ tools: tools(101, 'Searches.') });
  expect(Object.keys(bindingOf(many).digests!)).toEqual(['instructions', 'model', 'settings', 'policies', 'tools']);
  expect(changedParts(bindingOf(many), agent({ tools: tools(101, 'Finds.') }))).toEqual(['tools']);
  const changed = changedParts(bindingOf(agent({ tools: tools(100, 'a') })), agent({ tools: tools(100, 'b') }));
  expect(changed).toHaveLength(11);
  expect(changed.at(-1)).toBe('90 more');
});

test('[AGT4] a binding without digests, as earlier releases wrote, is reported as unchanged', () => {
  const { digests: _, ...earlier } = bindingOf(agent());
  expect(changedParts(earlier, agent({ instructions: 'x' }))).toEqual([]);
});
