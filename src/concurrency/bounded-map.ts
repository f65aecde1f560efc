/** A map of limited size. When the map is full, it evicts the entry that was set longest ago. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    super();
    this.#maxEntries = maxEntries;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    if (this.size >= this.#maxEntries) this.delete(this.keys().next().value!);
    return super.set(key, value);
  }
}
