/** Checks that a test name cites every rule of SPEC.md, as in `[LOG4] …`, and that every cited rule exists. */
import { existsSync, readFileSync } from 'node:fs';
import { readFiles } from './read-files.ts';
import { reportProblems } from './report-problems.ts';

const rule = /^\s*[-*] \*\*([A-Z]+\d+)\*\*/gm;
const citation = /['"`]\[([A-Z]+\d+(?:,\s*[A-Z]+\d+)*)\]/g;
const skipped = /\.(?:skip|todo)\(\s*['"`]\[[^\]]*\]/g;

export function listRules(spec: string): string[] {
  return [...spec.matchAll(rule)].map(([, id]) => String(id));
}

export function findSpecProblems(spec: string, tests: Map<string, string>): string[] {
  const rules = listRules(spec);
  const cited = new Map<string, string>();
  for (const [path, text] of tests) {
    for (const [, ids] of text.replaceAll(skipped, '').matchAll(citation)) {
      for (const id of String(ids).split(/,\s*/)) cited.set(id, path);
    }
  }
  return [
    ...(rules.length === 0 ? ['SPEC.md has no rules'] : []),
    ...rules.filter((id, index) => rules.indexOf(id) !== index).map((id) => `${id} occurs twice in SPEC.md`),
    ...rules.filter((id) => !cited.has(id)).map((id) => `${id} is cited by no test`),
    ...[...cited]
      .filter(([id]) => !rules.includes(id))
      .map(([id, path]) => `${id}, cited in ${path}, is not in SPEC.md`),
  ];
}

if (import.meta.main) {
  const spec = existsSync('SPEC.md') ? readFileSync('SPEC.md', 'utf8') : '';
  const tests = readFiles('{src,test}/**/*.test.ts', 'src/testing/**/*.ts', 'test/describe-*.ts');
  reportProblems('spec', `${listRules(spec).length} rules, each cited by a test`, findSpecProblems(spec, tests));
}
