import { z } from 'zod';
import { permissionFor } from '../../core/runtime/permissions.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { parameterTexts } from './parameter-texts.ts';
import { isList } from './read-query.ts';
import { bytes, type Route, stream } from './route.ts';

type Schema = Record<string, unknown>;

/** Tag of the operations that a key of any area may use. */
export const anyArea = 'sessions';

const problem = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What happened, and what to do next.' },
    code: { type: 'string', description: 'To branch on.' },
    details: { type: 'object' },
    request: { type: 'string', description: 'The id under which the server has logged it.' },
  },
};

/** Collects the named schemas, so that each appears once. */
export class Components {
  readonly schemas: Record<string, Schema> = { Problem: problem };

  of(schema: z.ZodType, io: 'input' | 'output'): Schema {
    const {
      $schema: _,
      $defs = {},
      ...own
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      target: 'draft-2020-12',
    }) as Schema & { $defs?: Record<string, Schema> };
    for (const [name, definition] of Object.entries($defs)) this.#add(name, definition);
    const named = own as Schema & { id?: string };
    if (typeof named.id !== 'string') return withComponentRefs(own);
    this.#add(named.id, own);
    return { $ref: `#/components/schemas/${named.id}` };
  }

  #add(name: string, { id: _, ...definition }: Schema): void {
    this.schemas[name] = withComponentRefs(definition);
  }
}

/**
 * Rewrites references: a standalone schema keeps its definitions at `#/$defs/X`, and the document keeps them as
 * components. `#` refers to the schema itself.
 */
const withComponentRefs = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Schema;

const parameters = (components: Components, place: 'path' | 'query', shape: z.ZodRawShape = {}): readonly Schema[] =>
  Object.entries(shape).map(([name, schema]) => {
    const own = components.of(schema as z.ZodType, 'input');
    const description = own.description ?? (place === 'query' ? parameterTexts[name] : undefined);
    const isRequired = place === 'path' || !(schema as z.ZodType).safeParse(undefined).success;
    return {
      name,
      in: place,
      required: isRequired,
      ...(description !== undefined && { description }),
      schema: own,
      ...(isList(schema) && { style: 'form', explode: true }),
    };
  });

const headerFields = {
  'Idempotency-Key': CallersKey.describe(
    'A request repeated with the same key is done once and gets the first answer again.',
  ),
  'If-None-Match': z.string().describe('Answers 304 when the state still has this ETag.'),
  'If-Match': z.string().describe('Refuses with 412 when the state has another ETag.'),
  'Last-Event-ID': z.string().describe('Resumes after the frame with this id.'),
} as const;
const headerNames = Object.keys(headerFields) as (keyof typeof headerFields)[];

const headers = (components: Components, { method, keyKeptBy, condition, answer }: Route): readonly Schema[] => {
  const counting = {
    'Idempotency-Key': method !== 'GET' && keyKeptBy !== 'nobody',
    'If-None-Match': condition === 'if-none-match',
    'If-Match': condition === 'if-match',
    'Last-Event-ID': answer === stream,
  };
  return headerNames
    .filter((name) => counting[name])
    .map((name) => {
      const { description, ...schema } = components.of(headerFields[name], 'input');
      return { name, in: 'header', required: false, description, schema };
    });
};

const binary = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

const contentOf = (components: Components, { answer, page }: Route): Schema => {
  const json = answer === stream ? page : answer;
  if (answer === bytes) return binary;
  return {
    ...(answer === stream && { 'text/event-stream': { schema: { type: 'string' } } }),
    ...(json && { 'application/json': { schema: components.of(json as z.ZodType, 'output') } }),
  };
};

const answerOf = (components: Components, route: Route): Schema => {
  const { answer, status = 200, condition } = route;
  if (!answer) return { 204: { description: 'Done.' } };
  return {
    [status]: { description: status === 202 ? 'Accepted.' : 'Success.', content: contentOf(components, route) },
    ...(condition === 'if-none-match' && { 304: { description: 'The state still has that ETag.' } }),
  };
};

const failure = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
});

/** Defined once, and referenced by every operation. */
const failureResponses = {
  Invalid: failure('The request is not valid.'),
  Unauthenticated: failure('The API key is missing or not valid.'),
  Forbidden: failure('The role or the areas of the key do not allow this.'),
  NotFound: failure('The workspace has no such thing.'),
  Conflict: failure('The current state of the resource does not allow this.'),
  StateMoved: failure('The state does not have the given ETag.'),
  TooLarge: failure('The body is larger than this route accepts.'),
  Refused: failure('The request is well-formed, but its content cannot be accepted.'),
  TooMany: failure('Too many requests with this key: see Retry-After.'),
  Unable: failure('Not an error of the client: the server, its store or a model cannot do it now.'),
};

const failureRef = (name: keyof typeof failureResponses) => ({ $ref: `#/components/responses/${name}` });

const failures = {
  400: failureRef('Invalid'),
  401: failureRef('Unauthenticated'),
  403: failureRef('Forbidden'),
  404: failureRef('NotFound'),
  409: failureRef('Conflict'),
  412: failureRef('StateMoved'),
  413: failureRef('TooLarge'),
  422: failureRef('Refused'),
  429: failureRef('TooMany'),
  default: failureRef('Unable'),
};

const operation = (components: Components, route: Route): Schema => {
  const { name, summary, about, body, params, query } = route;
  const { role, areas = [], whom } = permissionFor(route.verb);
  return {
    operationId: name,
    summary,
    ...(about && { description: about }),
    tags: [areas[0] ?? anyArea],
    'x-perdure-role': role,
    ...(whom && { 'x-perdure-whom': whom }),
    'x-perdure-areas': areas,
    parameters: [
      ...parameters(components, 'path', params),
      ...parameters(components, 'query', query),
      ...headers(components, route),
    ],
    ...(body && {
      requestBody: {
        required: body === bytes || !body.safeParse({}).success,
        content: body === bytes ? binary : { 'application/json': { schema: components.of(body, 'input') } },
      },
    }),
    responses: { ...answerOf(components, route), ...failures },
  };
};

/** Builds the OpenAPI 3.1 document of the whole API from the table of routes. */
export const openApi = (routes: readonly Route[], version: string): Schema => {
  const components = new Components();
  const paths: Record<string, Schema> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operation(components, route);
  }
  const areas = new Set(routes.map(({ verb }) => permissionFor(verb).areas?.[0] ?? anyArea));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Perdure',
      version,
      summary: 'Durable sessions for agents',
      description: 'Every request acts as one member of one workspace, both given by its key.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This server.' }],
    security: [{ key: [] }],
    tags: [...areas].map((name) => ({ name, description: `Operations of the area ${name}.` })),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key: pdk_…' } },
      schemas: components.schemas,
      responses: failureResponses,
    },
  };
};
