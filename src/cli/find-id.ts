import { type ErrorCode, PerdureError } from '../schema/error.ts';
import { printableLine } from './printable.ts';
import { wrongCall } from './wrong-call.ts';

/** Enough to be meant, few enough to be typed. */
const leastLetters = 4;
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
  readonly notFound: ErrorCode;
  /** What lists them. */
  readonly listing: string;
  readonly among: () => AsyncIterable<Named<Id>> | Promise<Iterable<Named<Id>>>;
}

/** As `newId` makes them; those of deliveries have several parts. */
const isPart = /^[0-9a-hjkmnp-tv-z_]+$/;

const anyPrefix = /^[a-z]{3,4}_/;

const bodyOf = ({ prefix }: { readonly prefix: string }, text: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

const shown = ({ id, about = '' }: Named): string => (about ? `${id} (${printableLine(about).slice(0, 40)})` : id);

type Kind = Omit<IdKind<string>, 'among' | 'notFound'>;

/** Before anything is opened: whether it can be an id, or the beginning or the end of one. */
export const isIdPart = (kind: Kind, given: string): boolean => {
  if (kind.isWhole(given)) return true;
  const body = bodyOf(kind, given);
  const isForeign = body === given && anyPrefix.test(given);
  return !isForeign && isPart.test(body) && body.length >= leastLetters;
};

export const checkIdPart = (kind: Kind, given: string): void => {
  if (isIdPart(kind, given)) return;
  const { noun, prefix, listing } = kind;
  throw wrongCall(
    `"${given}" is no ${noun}: give its id, ${prefix}…, or ${leastLetters} letters or more of its beginning or its end; \`${listing}\` lists those there are`,
  );
};

/** The one whose id is this, or begins or ends with it. */
export const findId = async <Id extends string>(kind: IdKind<Id>, given: string): Promise<Id> => {
  checkIdPart(kind, given);
  if (kind.isWhole(given)) return given as Id;
  const { noun, notFound, listing } = kind;
  const body = bodyOf(kind, given);
  const found = new Map<Id, Named<Id>>();
  for await (const each of await kind.among()) {
    const own = bodyOf(kind, each.id);
    if (own.startsWith(body) || own.endsWith(body)) found.set(each.id, each);
    if (found.size > maxShown) break;
  }
  const [only, ...others] = found.values();
  if (!only) {
    throw new PerdureError(
      notFound,
      `no ${noun} begins or ends with "${given}": \`${listing}\` lists those there are`,
      {
        details: { given },
      },
    );
  }
  if (others.length === 0) return only.id;
  const all = [only, ...others];
  const more = all.length > maxShown ? ' and more' : '';
  throw wrongCall(
    `"${given}" fits several: ${all.slice(0, maxShown).map(shown).join(', ')}${more}; give more letters of the ${noun} that is meant`,
  );
};
