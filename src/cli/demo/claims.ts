export interface Claim {
  readonly name: string;
  readonly holds: boolean;
}

/** Thrown when a claim of the demo does not hold. It ends the demo. */
export class ClaimFailed extends Error {}

/** Records checked claims. The first claim that does not hold ends the demo. */
export class Claims {
  readonly made: Claim[] = [];

  check(name: string, holds: boolean): void {
    this.made.push({ name, holds });
    if (!holds) throw new ClaimFailed(name);
  }
}
