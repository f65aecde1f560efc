import { expect, test } from 'vitest';
import { findSpecProblems, listRules } from './check-spec.ts';

const spec = `# Spec
- **LOG1** A log starts at 1.
- **LOG2** A log has no gap.
- **Words** that only look like a rule.
`;
const tests = (text: string) => new Map([['src/log.test.ts', text]]);

test('a spec passes if test names cite every rule, alone or together with others', () => {
  expect(listRules(spec)).toEqual(['LOG1', 'LOG2']);
  expect(findSpecProblems(spec, tests(`test('[LOG1, LOG2] a log is dense', …)`))).toEqual([]);
  expect(findSpecProblems(spec, tests(`it("[LOG1] …");\ndescribe(\`[LOG2] …\`)`))).toEqual([]);
});

test('a rule is a problem if no test cites it, or only a skipped test or a comment', () => {
  const expected = ['LOG2 is cited by no test'];
  expect(findSpecProblems(spec, tests(`test('[LOG1] …')`))).toEqual(expected);
  expect(findSpecProblems(spec, tests(`test('[LOG1] …'); test.skip('[LOG2] …'); test.todo(\n'[LOG2] …')`))).toEqual(
    expected,
  );
  expect(findSpecProblems(spec, tests(`test('[LOG1] …') // [LOG2]`))).toEqual(expected);
});

test('a cited rule that does not exist, a duplicate rule and an empty spec are problems', () => {
  const all = `test('[LOG1, LOG2] …')`;
  expect(findSpecProblems(spec, tests(`${all}; test('[LOG9] …')`))).toEqual([
    'LOG9, cited in src/log.test.ts, is not in SPEC.md',
  ]);
  expect(findSpecProblems(`${spec}- **LOG1** Again.\n`, tests(all))).toEqual(['LOG1 occurs twice in SPEC.md']);
  expect(findSpecProblems('', tests(''))).toEqual(['SPEC.md has no rules']);
});
