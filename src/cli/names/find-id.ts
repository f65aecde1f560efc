import { type ErrorCode, PerdureError } from '../../schema/error.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { printableLine } from '../terminal/printable.ts';

/**
 * Minimum length of a suffix, and of a prefix where matching the wrong id would do harm. Long enough to be
 * deliberate, short enough to type.
 */
const leastChars = 4;
const maxShown = 5;

export interface Named<Id extends string = string> {
  readonly id: Id;
  /** Description that helps people to tell ids apart. */
  readonly about?: string | undefined;
}

export interface IdKind<Id extends string> {
  /** Noun for messages, such as `session`. */
  readonly noun: string;
  /** Prefix of the ids, such as `ses_`. */
  readonly prefix: string;
  readonly isWhole: (text: string) => boolean;
  /** Accepts any unique prefix, however short. If only one session exists, one letter is enough. */
  readonly takesAnyBeginning?: true;
  readonly notFound: ErrorCode;
  /** Command that lists the ids. */
  readonly listing: string;
  readonly among: () => AsyncIterable<Named<Id>> | Promise<Iterable<Named<Id>>>;
}

/**
 * A well-formed part of an id. Delivery ids consist of several words, and letters that no id contains are allowed:
 * they match nothing.
 */
const isWord = /^\w+$/;
/** Alphabet of `newId`. */
const isOwnWord = /^[0-9a-hjkmnp-tv-z_]+$/;
const isBeginning = /^[0-7]/;

const anyPrefix = /^[a-z]{3,4}_/;

const bodyOf = ({ prefix }: { readonly prefix: string }, text: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

const shown = ({ id, about = '' }: Named): string => (about ? `${id} (${printableLine(about).slice(0, 40)})` : id);

type Kind = Omit<IdKind<string>, 'among' | 'notFound'>;

/** Whether an argument that may also be something else looks like an id, or a prefix or suffix of one. */
export const isIdPart = ({ prefix }: Kind, given: string): boolean => {
  if (given.startsWith(prefix)) return true;
  return isOwnWord.test(given) && !anyPrefix.test(given) && (given.length >= leastChars || isBeginning.test(given));
};

/** Rejects a malformed part of an id before a store is opened. */
export const checkIdPart = (kind: Kind, given: string): void => {
  const { noun, prefix, listing, takesAnyBeginning } = kind;
  const body = bodyOf(kind, given);
  const isForeign = body === given && anyPrefix.test(given);
  const isEnough = takesAnyBeginning || body.length >= leastChars;
  if (isWord.test(body) && !isForeign && isEnough) return;
  const parts = takesAnyBeginning
    ? `its first characters, or its last ${leastChars} or more`
    : `or its first or last ${leastChars} characters or more`;
  throw wrongCall(`"${given}" names no ${noun}: give its id, ${prefix}…, ${parts}; \`${listing}\` lists them`);
};

const fits = (id: string, part: string): boolean =>
  id.startsWith(part) || (part.length >= leastChars && id.endsWith(part));

/** Finds the one id that equals, begins with or ends with the given text. */
export const findId = async <Id extends string>(kind: IdKind<Id>, given: string): Promise<Id> => {
  checkIdPart(kind, given);
  if (kind.isWhole(given)) return given as Id;
  const { noun, notFound, listing } = kind;
  const body = bodyOf(kind, given);
  const found = new Map<Id, Named<Id>>();
  for await (const each of await kind.among()) {
    if (fits(bodyOf(kind, each.id), body)) found.set(each.id, each);
    if (found.size > maxShown) break;
  }
  const [only, ...others] = found.values();
  if (!only) {
    const how =
      body.length < leastChars
        ? `begins with "${given}", and an end takes ${leastChars} characters`
        : `begins or ends with "${given}"`;
    throw new PerdureError(notFound, `no ${noun} ${how}: \`${listing}\` lists them`, { details: { given } });
  }
  if (others.length === 0) return only.id;
  const all = [only, ...others];
  const more = all.length > maxShown ? ' and more' : '';
  throw wrongCall(
    `"${given}" fits several: ${all.slice(0, maxShown).map(shown).join(', ')}${more}; give more characters of the ${noun} you mean`,
  );
};
