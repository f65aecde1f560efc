/** Counts what each name holds at this moment. A name that holds nothing has no entry. */
export class Holdings {
  readonly #byName = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  by(name: string): number {
    return this.#byName.get(name) ?? 0;
  }

  add(name: string, amount: number): void {
    const held = this.by(name) + amount;
    this.#total += amount;
    if (held === 0) this.#byName.delete(name);
    else this.#byName.set(name, held);
  }
}
