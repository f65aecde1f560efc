import type { z } from 'zod';
import { Components } from '../../src/servers/http/openapi.ts';
import { code } from '../markdown.ts';
import { document } from './document.ts';
import { namesIn, type Schema, shapeText } from './shape-text.ts';

const components = new Components();

/** As JSON Schema; what has a name of its own (`.meta({ id })`) is referred to, and told once for all pages. */
export const schemaOf = (type: z.ZodType): Schema => components.of(type, 'output') as Schema;

/** Those that are told elsewhere, and better. */
const elsewhere: Readonly<Record<string, string>> = { Event: 'events.md', Problem: 'openapi.md#failures' };

/** All that pages have named so far, in the order of their names. */
export const namedShapes = (): readonly (readonly [string, Schema])[] =>
  Object.entries({ ...document.components.schemas, ...(components.schemas as Record<string, Schema>) })
    .filter(([name]) => !elsewhere[name])
    .sort(([a], [b]) => (a < b ? -1 : 1));

const linkOf = (name: string): string => `[${name}](${elsewhere[name] ?? `shapes.md#${name.toLowerCase()}`})`;

/** Where to read about the shapes that one names; empty when it names none. */
export const linksTo = (schema: Schema | readonly Schema[]): string => {
  const names = namesIn(schema);
  return names.length > 0 ? `See ${names.map(linkOf).join(', ')}.` : '';
};

export const shapeLines = (schema: Schema): readonly string[] => {
  const links = linksTo(schema);
  return ['```ts', shapeText(schema), '```', ...(links ? ['', links] : [])];
};

const maxInlineChars = 80;

/** `Answer: Session`, or what else has room beside the title; else the shape below it. */
export const titledShape = (title: string, schema: Schema): readonly string[] => {
  if (schema.$ref) return [`${title}: ${namesIn(schema).map(linkOf).join()}.`];
  const text = shapeText(schema);
  if (text.includes('\n') || text.length > maxInlineChars) return [`${title}:`, '', ...shapeLines(schema)];
  const links = linksTo(schema);
  return [`${title}: ${code(text)}.${links ? ` ${links}` : ''}`];
};
