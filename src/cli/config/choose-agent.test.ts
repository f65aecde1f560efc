import { expect, test } from 'vitest';
import type { SessionSummary } from '../../schema/summary.ts';
import { refuseForeign } from './choose-agent.ts';
import { demoAgent } from './demo-agent.ts';

test.each([
  ['a configuration', { file: 'perdure.config.ts' }, 'coder@2, which is not in the configuration: name'],
  ['none', {}, 'coder@2, which is in no configuration: name'],
])('[CLIR1] with %s, an input for an agent that is not available is refused', (_, where, words) => {
  const summary = { id: 'ses_a', agent: { name: 'coder', version: 2 } } as unknown as SessionSummary;
  expect(() => refuseForeign({ agents: [demoAgent], ...where }, summary)).toThrow(words);
});
