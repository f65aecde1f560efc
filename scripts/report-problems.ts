/** Ends a check: one line when all is well, else every problem and exit code 1. */
export function reportProblems(name: string, fine: string, problems: string[]): void {
  if (problems.length === 0) {
    console.log(`${name}: ${fine}`);
    return;
  }
  console.error(`${name}: ${problems.length} problem${problems.length === 1 ? '' : 's'}`);
  for (const problem of problems) console.error(`  ${problem}`);
  process.exitCode = 1;
}
