import type { z } from 'zod';
import { Components } from '../../src/servers/http/openapi.ts';
import { code } from '../markdown.ts';
import { document } from './document.ts';
import { namesIn, type Schema, shapeText } from './shape-text.ts';

const components = new Components();

/**
 * Converts to JSON Schema. Named shapes (`.meta({ id })`) become references, and are documented once for all pages.
 */
export const schemaOf = (type: z.ZodType): Schema => components.of(type, 'output') as Schema;

/** Shapes that another page documents. */
const elsewhere: Readonly<Record<string, string>> = { Event: 'events.md', Problem: 'openapi.md#failures' };

/** All shapes that pages have named so far, sorted by name. */
export const namedShapes = (): readonly (readonly [string, Schema])[] =>
  Object.entries({ ...document.components.schemas, ...(components.schemas as Record<string, Schema>) })
    .filter(([name]) => !elsewhere[name])
    .sort(([a], [b]) => (a < b ? -1 : 1));

const linkOf = (name: string): string => `[${name}](${elsewhere[name] ?? `shapes.md#${name.toLowerCase()}`})`;

/** Links to the shapes that a schema names; empty if it names none. */
export const linksTo = (schema: Schema | readonly Schema[]): string => {
  const names = namesIn(schema);
  return names.length > 0 ? `See ${names.map(linkOf).join(', ')}.` : '';
};

export const shapeLines = (schema: Schema): readonly string[] => {
  const links = linksTo(schema);
  return ['```ts', shapeText(schema), '```', ...(links ? ['', links] : [])];
};

const maxInlineChars = 80;

/** A title and a shape: a short shape is beside the title, as in `Answer: Session`, and a longer one below it. */
export const titledShape = (title: string, schema: Schema): readonly string[] => {
  if (schema.$ref) return [`${title}: ${namesIn(schema).map(linkOf).join()}.`];
  const text = shapeText(schema);
  if (text.includes('\n') || text.length > maxInlineChars) return [`${title}:`, '', ...shapeLines(schema)];
  const links = linksTo(schema);
  return [`${title}: ${code(text)}.${links ? ` ${links}` : ''}`];
};
