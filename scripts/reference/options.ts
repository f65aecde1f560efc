import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { code, table } from '../markdown.ts';
import { exampleText } from './example-text.ts';
import { type Member, readInterface } from './read-interface.ts';
import { shapeText } from './shape-text.ts';
import { schemaOf } from './shapes.ts';

/** The options of one function, or of one of its fields. */
export interface Group {
  readonly title: string;
  readonly about: string;
  readonly members: readonly Member[];
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Links to types that are documented elsewhere, by name. */
  readonly places?: ReadonlyMap<string, string>;
}

export const membersOf = (
  file: string,
  name: string,
  isShown: (member: string) => boolean = () => true,
): readonly Member[] => readInterface(readFileSync(file, 'utf8'), name).filter((member) => isShown(member.name));

/** The fields of a schema that describes them in place. */
export const fieldsOf = (schema: z.ZodObject): readonly Member[] =>
  Object.entries(schema.shape).map(([name, field]) => {
    const { description: about } = field as z.ZodType;
    if (!about) throw new Error(`${name} needs a description`);
    const isOptional = (field as z.ZodType).safeParse(undefined).success;
    return { name, isOptional, type: shapeText(schemaOf(field as z.ZodType)), about };
  });

const defaultText = (value: unknown): string =>
  value === undefined || typeof value === 'function'
    ? ''
    : code(typeof value === 'string' ? value : exampleText(value));

const typeText = (type: string, places: Group['places']): string => {
  const place = places?.get(type.replace('[]', ''));
  return place ? `[${code(type)}](${place})` : code(type);
};

export const optionsSection = ({ title, about, members, defaults = {}, places }: Group): readonly string[] => [
  `## ${title}`,
  '',
  about,
  '',
  ...table(
    ['Field', 'Type', 'Default', 'Meaning'],
    members.map(({ name, isOptional, type, about }) => [
      code(`${name}${isOptional ? '?' : ''}`),
      typeText(type, places),
      defaultText(defaults[name]),
      about,
    ]),
  ),
];
