import { z } from 'zod';
import { currentVersion, type EventType, eventDefinitions, eventHeader } from '../../src/schema/event.ts';
import { type EventEntry, eventCatalog } from '../../src/schema/event-catalog.ts';
import { anchorOf, code, linkTo, table } from '../markdown.ts';
import { exampleText } from './example-text.ts';
import { markdownPage, type Page } from './page.ts';
import { type Schema, shapeText } from './shape-text.ts';
import { linksTo, schemaOf } from './shapes.ts';

const types = Object.keys(eventDefinitions) as EventType[];
const families = [...Map.groupBy(types, (type) => type.slice(0, type.indexOf('.')))];

const writers: Readonly<Record<EventEntry<EventType>['writer'], string>> = {
  run: 'by the holder of the epoch',
  outside: 'from outside',
  either: 'by the holder of the epoch, and from outside',
};

const firstSentence = (text: string): string => text.replace(/\. .*$/, '.');

const headerTexts: Readonly<Record<keyof typeof eventHeader.shape, string>> = {
  session: 'The session whose log it is in. In a fork, inherited events have that of the ancestor.',
  seq: 'Its number, dense from 1.',
  at: 'Milliseconds since 1970; never less than the event before.',
  turn: 'The turn it belongs to.',
  run: 'The run it belongs to, if any.',
  type: 'Its type.',
  version: 'The version of the payload.',
  actor: 'Who caused the event: `system`, `member:…`, `agent:…`, `tool:…`, `importer:…`, or `outside`.',
};

/** Maximum width of a type in a table. */
const maxTypeChars = 64;

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isOptional: boolean;
  readonly about: string;
}

const fieldsOf = (shape: z.ZodRawShape, texts: Readonly<Record<string, string>>): readonly Field[] =>
  Object.entries(shape as Record<string, z.ZodType>).map(([name, type]) => ({
    name,
    schema: schemaOf(type),
    isOptional: type.safeParse(undefined).success,
    about: texts[name] ?? '',
  }));

/**
 * The fields of a payload. For a union, these are the fields of all its members, and those that only some members
 * have are optional.
 */
const shapeOf = (payload: z.ZodObject | z.ZodDiscriminatedUnion<readonly z.ZodObject[]>): z.ZodRawShape => {
  if ('shape' in payload) return payload.shape;
  const shapes = payload.options.map(({ shape }) => shape as Readonly<Record<string, z.ZodType>>);
  const names = new Set(shapes.flatMap((shape) => Object.keys(shape)));
  return Object.fromEntries(
    [...names].map((name) => {
      const types = shapes.flatMap((shape) => shape[name] ?? []);
      const type = z.union(types);
      return [name, types.length < shapes.length ? type.optional() : type];
    }),
  );
};

const isLong = ({ schema }: Field): boolean => shapeText(schema).length > maxTypeChars;

const fieldRows = (fields: readonly Field[]): readonly (readonly string[])[] =>
  fields.map((field) => [
    code(`${field.name}${field.isOptional ? '?' : ''}`),
    isLong(field) ? 'below' : code(shapeText(field.schema)),
    field.about,
  ]);

const fieldTitles = ['Field', 'Type', 'Meaning'];

/** A table, followed by the types that are too wide for it. */
const fieldLines = (fields: readonly Field[]): readonly string[] => {
  const links = linksTo(fields.map(({ schema }) => schema));
  const long = fields.filter(isLong);
  const required = long.flatMap(({ name, isOptional }) => (isOptional ? [] : [name]));
  const properties = Object.fromEntries(long.map(({ name, schema }) => [name, schema]));
  return [
    ...(fields.length > 0 ? table(fieldTitles, fieldRows(fields)) : ['No fields.']),
    ...(long.length > 0 ? ['', '```ts', shapeText({ type: 'object', properties, required }), '```'] : []),
    ...(links ? ['', links] : []),
  ];
};

const section = (type: EventType): readonly string[] => {
  const { about, kind, writer, fields, example } = eventCatalog[type];
  return [
    `### ${type}`,
    '',
    about,
    '',
    `Version ${currentVersion(type)}, a ${kind}, written ${writers[writer]}.`,
    '',
    ...fieldLines(fieldsOf(shapeOf(eventDefinitions[type].payload), fields)),
    ...(Object.keys(example).length > 0 ? ['', '```json', exampleText(example), '```'] : []),
  ];
};

export const eventsPage: Page = {
  path: 'docs/reference/events.md',
  render: () =>
    markdownPage(
      'Events',
      'A log consists of events. Every event has a header, a payload by its type, and a hash. `perdure log SESSION --json` and `session.events()` return them as described here; payloads of earlier versions are lifted to the newest.',
      `On this page: ${linkTo('Types')}, ${linkTo('The header')}, ${linkTo('The hash')}, ${linkTo('Who may write')}; by family: ${families.map(([name]) => linkTo(name)).join(', ')}.`,
      '## Types',
      table(
        ['Type', 'What it tells', 'Kind', 'Writer'],
        types.map((type) => {
          const { about, kind, writer } = eventCatalog[type];
          return [`[${code(type)}](#${anchorOf(type)})`, firstSentence(about), kind, writer];
        }),
      ),
      '## The header',
      table(fieldTitles, [
        ...fieldRows(fieldsOf(eventHeader.shape, headerTexts)),
        ['`workspace`', '`string`', 'The tenant. Not part of the hash, so that a log can move.'],
        ['`payload`', '', 'As its type has it: below.'],
        ['`hash`', '`string`', 'As below, in hexadecimal digits.'],
      ]),
      '## The hash',
      '`hash = SHA-256(previous hash ‖ header ‖ SHA-256(salt ‖ payload bytes))`, over the bytes as they are stored. The header is `perdure.event.1` and session, seq, at, turn, run, type, version and actor, each followed by a line feed. What must hold is in [SPEC](../../SPEC.md#hashes) (HASH1 to HASH7), why it is so in [the decision on it](../decisions/0002-the-hash-header.md); `perdure verify` computes it again.',
      '## Who may write',
      'A *fact* lands at any head. A *decision* names the head it was decided on, and is decided again when that has moved. A *run* writes by the epoch that it holds, and is fenced when another has taken the session over; *outside* are people and clients, who may not write `run.*`, `tool.*` and `model.*`. The rules are LOG4 and WR1 to WR4 of [SPEC](../../SPEC.md#writers).',
      ...families.flatMap(([name, members]) => [`## ${name}`, ...members.map(section)]),
    ),
};
