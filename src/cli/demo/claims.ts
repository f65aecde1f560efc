export interface Claim {
  readonly name: string;
  readonly holds: boolean;
}

/** What ends the story. */
export class ClaimFailed extends Error {}

/** Nothing is claimed that was not checked, and nothing is told after a claim that does not hold. */
export class Claims {
  readonly made: Claim[] = [];

  check(name: string, holds: boolean): void {
    this.made.push({ name, holds });
    if (!holds) throw new ClaimFailed(name);
  }
}
