/** Prints the result of a check: one line if there is no problem, otherwise every problem, with exit code 1. */
export function reportProblems(name: string, fine: string, problems: string[]): void {
  if (problems.length === 0) {
    console.log(`${name}: ${fine}`);
    return;
  }
  console.error(`${name}: ${problems.length} problem${problems.length === 1 ? '' : 's'}`);
  for (const problem of problems) console.error(`  ${problem}`);
  process.exitCode = 1;
}
