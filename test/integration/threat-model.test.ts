import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listRules } from '../../scripts/check-spec.ts';

test('every rule that the threat model names is a rule of the specification', () => {
  const rules = new Set(listRules(readFileSync('SPEC.md', 'utf8')));
  const named = readFileSync('docs/threat-model.md', 'utf8').match(/\b[A-Z]{2,7}\d+\b/g) ?? [];
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !rules.has(name))).toEqual([]);
});
