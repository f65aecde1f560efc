import { anyArea } from '../../src/servers/http/openapi.ts';
import { code, linkTo, table } from '../markdown.ts';
import { type Content, document, type Operation } from './document.ts';
import { markdownPage, type Page } from './page.ts';
import { shapeText } from './shape-text.ts';
import { shapeLines, titledShape } from './shapes.ts';

const { paths, components } = document;

interface Place {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}
const places = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]): Place => ({ method: method.toUpperCase(), path, operation })),
);
const byTag = [...Map.groupBy(places, ({ operation }) => operation.tags[0]!)];

const failures = Object.entries(places[0]!.operation.responses).flatMap(([status, { $ref = '' }]) => {
  const name = $ref.slice($ref.lastIndexOf('/') + 1);
  return name ? [[status, components.responses[name]!.description]] : [];
});

const mediaTexts: Readonly<Record<string, string>> = {
  'application/octet-stream': 'bytes, as they are.',
  'text/event-stream':
    'server-sent events: `id` to go on from, `event`, and `data` as JSON. What is shown and not kept has no id; an `error` tells why the stream ends.',
};

/** The lines below a title such as `Body`. */
const contentLines = (title: string, content: Content = {}): readonly string[] => {
  const parts = Object.entries(content).map(([media, { schema }]) => {
    const mediaText = mediaTexts[media];
    return mediaText ? [`${title} as ${code(media)}: ${mediaText}`] : titledShape(title, schema);
  });
  return parts.length > 0 ? parts.flatMap((lines) => ['', ...lines]) : ['', `${title}, without content`];
};

const needs = (operation: Operation): string => {
  const areas = operation['x-perdure-areas'];
  const area =
    areas.length > 0
      ? `the ${areas.length > 1 ? 'areas' : 'area'} ${areas.map(code).join(' and ')}`
      : 'a key of any area';
  const role = code(operation['x-perdure-role']);
  return `Takes the role ${role}${operation['x-perdure-whom'] ? ' at least,' : ''} and ${area}.`;
};

const parameterTable = ({ parameters }: Operation): readonly string[] => {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({ name, in: place, required, schema, description = '' }) => [
    code(name),
    `${place}${required ? '' : ', optional'}`,
    code(shapeText(schema)),
    description,
  ]);
  const isTold = rows.some((row) => row[3]);
  const titles = ['Parameter', 'In', 'Type', ...(isTold ? ['Meaning'] : [])];
  return ['', ...table(titles, isTold ? rows : rows.map((row) => row.slice(0, 3)))];
};

const section = ({ method, path, operation }: Place): readonly string[] => {
  const { operationId, summary, description, requestBody, responses } = operation;
  const [status, { content }] = Object.entries(responses)[0]!;
  const unchanged = responses[304];
  return [
    `### ${operationId}`,
    '',
    `**${code(`${method} ${path}`)}** ${summary}.`,
    ...(description ? ['', description] : []),
    '',
    needs(operation),
    ...parameterTable(operation),
    ...(requestBody
      ? contentLines(requestBody.required ? 'Body' : 'Body, which may be left out', requestBody.content)
      : []),
    ...contentLines(`Answer ${status}`, content),
    ...(unchanged ? ['', `Or 304: ${unchanged.description}`] : []),
  ];
};

export const openapiPage: Page = {
  path: 'docs/reference/openapi.md',
  render: () =>
    markdownPage(
      'The HTTP API',
      'The API of `perdure serve` and `serveHttp`. Programs can read [openapi.json](openapi.json), which a server returns at `/v1/openapi.json`; people can browse `/v1/docs`. Every request acts as the member that its key belongs to, in one workspace: `authorization: Bearer pdk_…`. [The guide](../guides/serve.md) says how to run a server.',
      `On this page: ${linkTo('Routes')}, ${linkTo('Failures')}; by area: ${byTag.map(([tag]) => linkTo(tag)).join(', ')}. Named shapes are in [shapes](shapes.md).`,
      '## Routes',
      ...byTag.flatMap(([tag, members]) => [
        `**${linkTo(tag)}**`,
        table(
          ['Route', 'What it does', 'Role'],
          members.map(({ method, path, operation }) => [
            `[${code(`${method} ${path}`)}](#${operation.operationId.toLowerCase()})`,
            operation.summary,
            operation['x-perdure-whom'] ?? operation['x-perdure-role'],
          ]),
        ),
      ]),
      '## Failures',
      'All of them are [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problems, `application/problem+json`; `code` is one of [errors](errors.md).',
      shapeLines(components.schemas.Problem!),
      table(['Status', 'Meaning'], failures),
      ...byTag.flatMap(([tag, members]) => [
        `## ${tag}`,
        ...(tag === anyArea ? ['Routes that a key of any area may use are listed here too.'] : []),
        ...members.map(section),
      ]),
    ),
};

export const openapiJson: Page = {
  path: 'docs/reference/openapi.json',
  render: () => `${JSON.stringify(document, null, 1)}\n`,
};
