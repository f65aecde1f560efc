import type { Json } from '../../../schema/json.ts';
import { leastSecretChars } from '../../../schema/least-secret-chars.ts';
import { FormSearch } from './form-search.ts';
import { formsOf } from './secret-forms.ts';

export interface Secret {
  readonly name: string;
  readonly value: string;
}

const utf8AsLatin1 = (text: string): string => Buffer.from(text).toString('latin1');
const asLatin1 = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('latin1');

/** Returns a function that checks whether bytes contain one of the forms in UTF-8. */
export const holdsOneOf = (forms: readonly string[]): ((bytes: Uint8Array) => boolean) => {
  const wanted = forms.filter((form) => form.length >= leastSecretChars);
  if (wanted.length === 0) return () => false;
  const search = new FormSearch(new Map(wanted.map((form) => [utf8AsLatin1(form), ''])));
  return (bytes) => search.next(asLatin1(bytes), 0) !== undefined;
};

/** The placeholder of a secret. The placeholder omits the secret's name if that name would reveal a secret. */
const placeholderFor = (name: string, forms: readonly string[]): string => {
  const named = `[secret ${name}]`;
  return forms.some((form) => named.includes(form)) ? '[secret]' : named;
};

const placeholdersOf = (secrets: readonly Secret[]): ReadonlyMap<string, string> => {
  const sorted = secrets
    .filter(({ value }) => value.length >= leastSecretChars)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = new Map(
    sorted
      .toReversed()
      .flatMap(({ name, value }) => formsOf(value, leastSecretChars).map((form) => [form, name] as const)),
  );
  const forms = [...names.keys()];
  return new Map([...names].map(([form, name]) => [form, placeholderFor(name, forms)]));
};

/** Redacts a text that arrives in pieces. The end of a piece is held back if it could be the beginning of a secret. */
export class RedactedStream {
  readonly #search: FormSearch | undefined;
  #held = '';
  /** How many of the held characters belong to a secret whose placeholder is already in the output. */
  #covered = 0;

  constructor(search: FormSearch | undefined) {
    this.#search = search;
  }

  push(piece: string): string {
    return this.#search ? this.#take(this.#search, piece, false) : piece;
  }

  /** Returns the text that was held back. */
  end(): string {
    return this.#search ? this.#take(this.#search, '', true) : '';
  }

  #take(search: FormSearch, piece: string, isLast: boolean): string {
    const text = this.#held + piece;
    const known = isLast ? text.length : search.beginsAt(text);
    let shown = '';
    let from = this.#covered;
    for (let found = search.next(text, 0); found && found.at < known; found = search.next(text, found.at + 1)) {
      // A match that overlaps the previous one shares its placeholder.
      if (found.at >= from) shown += text.slice(from, found.at) + found.placeholder;
      from = Math.max(from, found.at + found.length);
    }
    this.#held = text.slice(known);
    this.#covered = Math.max(0, from - known);
    return from < known ? shown + text.slice(from, known) : shown;
  }
}

/** Replaces each known secret by `[secret NAME]`. */
export class Redactor {
  /** Every text form of the secrets that the redactor searches for. */
  readonly forms: readonly string[];
  readonly #search: FormSearch | undefined;
  readonly #byteSearch: FormSearch | undefined;

  constructor(secrets: readonly Secret[]) {
    const placeholders = placeholdersOf(secrets);
    this.forms = [...placeholders.keys()];
    if (this.forms.length === 0) return;
    this.#search = new FormSearch(placeholders);
    this.#byteSearch = new FormSearch(new Map([...placeholders].map(([form, shown]) => [utf8AsLatin1(form), shown])));
  }

  text(text: string): string {
    return this.#search?.next(text, 0) ? redactWhole(this.#search, text) : text;
  }

  /** Redacts values and keys. Returns the same value if there is nothing to replace. */
  json<T extends Json>(value: T): T {
    return this.#search ? (this.#json(value) as T) : value;
  }

  #json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const clean = value.map((each) => this.#json(each));
      return clean.some((each, place) => each !== value[place]) ? clean : value;
    }
    const entries = Object.entries(value);
    const clean = entries.map(([key, each]) => [this.text(key), this.#json(each)] as const);
    const isClean = clean.every(([key, each], place) => key === entries[place]![0] && each === entries[place]![1]);
    return isClean ? value : Object.fromEntries(clean);
  }

  /** Redacts bytes. Returns the same bytes if there is nothing to replace. */
  bytes(bytes: Uint8Array): Uint8Array {
    if (!this.#byteSearch) return bytes;
    const text = asLatin1(bytes);
    return this.#byteSearch.next(text, 0) ? Buffer.from(redactWhole(this.#byteSearch, text), 'latin1') : bytes;
  }

  stream(): RedactedStream {
    return new RedactedStream(this.#search);
  }
}

const redactWhole = (search: FormSearch, text: string): string => {
  const stream = new RedactedStream(search);
  return stream.push(text) + stream.end();
};

export const redactorOf = (secrets: readonly Secret[]): Redactor => new Redactor(secrets);

export const nothingSecret = redactorOf([]);
