import { type ErrorCode, PerdureError } from '../../schema/error.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { printableLine } from '../terminal/printable.ts';

/** Enough to be meant, few enough to be typed: of an end, and of the beginning of what is answered, revoked or removed. */
const leastChars = 4;
const maxShown = 5;

export interface Named<Id extends string = string> {
  readonly id: Id;
  /** What helps people to tell it from others. */
  readonly about?: string | undefined;
}

export interface IdKind<Id extends string> {
  /** Such as `session`. */
  readonly noun: string;
  /** What the ids begin with, such as `ses_`. */
  readonly prefix: string;
  readonly isWhole: (text: string) => boolean;
  /** However little of a beginning will do, where no other has it: ids begin with their time, so that one letter says nothing where there is but one. */
  readonly takesAnyBeginning?: true;
  readonly notFound: ErrorCode;
  /** What lists them. */
  readonly listing: string;
  readonly among: () => AsyncIterable<Named<Id>> | Promise<Iterable<Named<Id>>>;
}

/** Those of deliveries have several parts. A letter that no id has is looked for too, and not found. */
const isWord = /^\w+$/;
/** As `newId` makes them. */
const isOwnWord = /^[0-9a-hjkmnp-tv-z_]+$/;
const isBeginning = /^[0-7]/;

const anyPrefix = /^[a-z]{3,4}_/;

const bodyOf = ({ prefix }: { readonly prefix: string }, text: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

const shown = ({ id, about = '' }: Named): string => (about ? `${id} (${printableLine(about).slice(0, 40)})` : id);

type Kind = Omit<IdKind<string>, 'among' | 'notFound'>;

/** Where something else may stand as well: whether it is meant as an id, or as the beginning or the end of one. */
export const isIdPart = ({ prefix }: Kind, given: string): boolean => {
  if (given.startsWith(prefix)) return true;
  return isOwnWord.test(given) && !anyPrefix.test(given) && (given.length >= leastChars || isBeginning.test(given));
};

/** Before anything is opened. */
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

/** The one whose id is this, or begins or ends with it. */
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
