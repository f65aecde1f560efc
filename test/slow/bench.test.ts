import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const bench = (...args: string[]) => run(process.execPath, ['bench/main.ts', ...args]);

test('the bench measures appends against the bare loop and prints them for programs', async () => {
  const { stdout } = await bench('--quick', '--only', 'append', '--engine', 'sqlite', '--json');
  const { results } = JSON.parse(stdout);
  expect(results.filter(({ target }: { target?: object }) => target)).toHaveLength(3);
  for (const result of results) {
    expect(result).toMatchObject({ case: 'append', engine: 'sqlite', unit: '%' });
    expect(result.name).toContain('share of the bare loop');
    expect(result.value).toBeGreaterThan(0);
    if (result.target) expect(result).toMatchObject({ target: { atLeast: 60 }, ok: result.value >= 60 });
  }
}, 120_000);

test('the bench names the cases there are when it is asked for another', async () => {
  await expect(bench('--only', 'nothing')).rejects.toThrow(/"nothing" is not a case; there are: append, loop, wake/);
});
