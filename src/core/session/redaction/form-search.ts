interface Found {
  readonly at: number;
  readonly length: number;
  readonly placeholder: string;
}

const slots = 4096;
const slotOf = (first: number, second: number): number => ((first * 31) ^ second) & (slots - 1);

/**
 * Searches for many patterns at the same time with the Wu-Manber algorithm. The window is as long as the shortest
 * pattern. Its last two characters give the distance to the next possible match, so that the time does not grow with
 * the number of patterns.
 */
export class FormSearch {
  readonly #placeholders: ReadonlyMap<string, string>;
  readonly #window: number;
  readonly #longest: number;
  readonly #shifts = new Uint16Array(slots);
  /** The patterns that may match when the window ends in this slot, longest first. */
  readonly #bySlot = new Map<number, string[]>();
  readonly #byFirst = new Map<number, string[]>();

  /** The keys are the patterns, the values are their placeholders. No pattern may be shorter than two characters. */
  constructor(placeholders: ReadonlyMap<string, string>) {
    const forms = [...placeholders.keys()].toSorted((a, b) => b.length - a.length);
    this.#placeholders = placeholders;
    this.#longest = forms[0]!.length;
    this.#window = Math.min(forms.at(-1)!.length, 2 ** 16);
    this.#shifts.fill(this.#window - 1);
    for (const form of forms) {
      const last = this.#window - 1;
      for (let at = 1; at <= last; at++) {
        const slot = slotOf(form.charCodeAt(at - 1), form.charCodeAt(at));
        this.#shifts[slot] = Math.min(this.#shifts[slot]!, last - at);
      }
      addTo(this.#bySlot, slotOf(form.charCodeAt(last - 1), form.charCodeAt(last)), form);
      addTo(this.#byFirst, form.charCodeAt(0), form);
    }
  }

  /** Returns the first match at or after `from`. If several patterns match at that position, returns the longest. */
  next(text: string, from: number): Found | undefined {
    const last = this.#window - 1;
    let at = from;
    while (at + last < text.length) {
      const slot = slotOf(text.charCodeAt(at + last - 1), text.charCodeAt(at + last));
      const shift = this.#shifts[slot]!;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const form = this.#bySlot.get(slot)?.find((each) => text.startsWith(each, at));
      if (form !== undefined) return { at, length: form.length, placeholder: this.#placeholders.get(form)! };
      at++;
    }
    return undefined;
  }

  /**
   * Returns the first index at which the rest of the text could be the beginning of a longer pattern. Returns the
   * length of the text if there is none.
   */
  beginsAt(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest + 1); at < text.length; at++) {
      const forms = this.#byFirst.get(text.charCodeAt(at));
      const left = text.length - at;
      if (forms?.some((form) => form.length > left && form.startsWith(text.slice(at)))) return at;
    }
    return text.length;
  }
}

const addTo = (lists: Map<number, string[]>, key: number, form: string): void => {
  const list = lists.get(key);
  if (list) list.push(form);
  else lists.set(key, [form]);
};
