import { gzipSync } from 'node:zlib';
import { hostilePaths } from '../support/files/hostile-paths.ts';
import { operationsOf, type SampleRoute, sampleOf } from '../support/servers/api-samples.ts';
import { type Schema, wrongValues } from './wrong-values.ts';

export interface HostileRequest {
  readonly what: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: Schema;
}

/** For paths and queries, already percent-encoded. */
const brokenTexts = ['%00', 'a%00b', '%ff', '%c0%ae%c0%ae', '%ed%a0%80', '%f0%9f', '%', '%zz', '%u0041'];
const pathTricks = [
  '%2e%2e',
  '..%2f..%2fkeys',
  '%2e%2e%2fkeys',
  '%252e%252e%252fkeys',
  '..;',
  '*',
  '%20',
  '%0d%0ax-a:%20b',
  `x${'y'.repeat(5000)}`,
];
const oddNumbers = [
  'NaN',
  'Infinity',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  '',
  '%201',
  '1%20',
  '99999999999999999999',
  '%D9%A1',
];

const badHeaders: Readonly<Record<string, readonly string[]>> = {
  'Idempotency-Key': ['', 'x'.repeat(256), 'x'.repeat(10_000)],
  'If-Match': ['"nothing"', 'W/"nothing"', '""', '"', 'x'.repeat(5000), '"a", "b"'],
  'If-None-Match': [],
  'Last-Event-ID': ['abc', '-1', '1e3', '1, 2', '1.0', '99999999999999999999', '0x1'],
};
const badKeys = [
  '',
  'Bearer',
  'Bearer ',
  'Bearer pdk_',
  'Basic cGRrXw==',
  'Bearer pdk_local.key_01jd3v8m9k5x7q2w4e6r8t0y1a.x',
  `Bearer pdk_${'x'.repeat(5000)}`,
  "Bearer pdk_' OR 1=1 --",
  'Bearer pdk_..',
];

const endless = (opening: string): string => opening.repeat(200_000);

/** The server must reject every one of these requests, and none may change anything. */
export const hostileRequests = (
  document: Record<string, unknown>,
  route: SampleRoute,
  { key, own }: { readonly key: string; readonly own: Readonly<Record<string, string>> },
): readonly HostileRequest[] => {
  const { address, init } = sampleOf(route, own);
  const headers = { ...init.headers, authorization: `Bearer ${key}` };
  const parameters = route.parameters as readonly unknown[] as readonly Parameter[];
  const base = { method: route.method, target: address, headers, body: init.body };
  const made: HostileRequest[] = [];
  const add = (what: string, change: Partial<HostileRequest>): void => {
    made.push({ ...base, what: `${route.operationId}: ${what}`, ...change });
  };
  const addBodies = (): void => {
    const content = route.requestBody?.content['application/json'] as { readonly schema: Schema } | undefined;
    if (!content) return;
    const sample = JSON.parse(init.body!) as unknown;
    for (const { what, json } of wrongValues(withoutRefs(document, content.schema), sample))
      add(`body ${what}`, { body: json });
    for (const body of ['{', '{"a":', 'nothing', '"', '{"a":1}{"a":1}', 'NaN', '\0', '[1,]'])
      add(`body ${JSON.stringify(body)}`, { body });
    add('body that is no UTF-8', { body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]) });
    add('body in UTF-16', { body: Buffer.from(init.body!, 'utf16le') });
    add('body of arrays without end', { body: endless('[') });
    add('body of objects without end', { body: endless('{"a":') });
    add('body compressed', { body: gzipSync(init.body!), headers: { ...headers, 'content-encoding': 'gzip' } });
    for (const type of [
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      '',
      ';',
    ]) {
      if (init.body !== '{}') add(`body as "${type}"`, { headers: { ...headers, 'content-type': type } });
    }
  };
  const addPaths = (): void => {
    for (const { name, schema } of parameters.filter((each) => each.in === 'path')) {
      const isFree = !schema.pattern && !schema.examples;
      const tooLong = schema.maxLength === undefined ? [] : ['x'.repeat(schema.maxLength + 1)];
      for (const trick of [...brokenTexts, ...tooLong, ...(isFree ? [] : pathTricks)]) {
        const filled = sampleOf(route, { ...own, [name]: 'PUT-HERE' }).address.replace('PUT-HERE', trick);
        add(`path ${name} ${trick.slice(0, 40)}`, { target: filled });
      }
    }
    add('path with dots', { target: address.replace('/v1/', '/v1/../v1/') });
    add('path with encoded dots', { target: address.replace('/v1/', '/v1/%2e%2e/v1/') });
    add('path with a backslash', { target: address.replace('/v1/', '/v1\\') });
    add('path with an empty part', { target: address.replace('/v1/', '/v1//') });
    add('path in other letters', { target: address.replace('/v1/', '/V1/') });
    add('path that goes on', { target: address.replace(/(\?|$)/, '/$1') });
  };
  const addQueries = (): void => {
    const withQuery = (text: string): string => `${address}${address.includes('?') ? '&' : '?'}${text}`;
    const instead = (name: string, value: string): string => {
      const [path, query = ''] = address.split('?');
      const rest = query.split('&').filter((each) => each !== '' && !each.startsWith(`${name}=`));
      return `${path}?${[...rest, `${name}=${value}`].join('&')}`;
    };
    for (const { name, schema } of parameters.filter((each) => each.in === 'query')) {
      const isList = schema.type === 'array';
      const { type, enum: names, maxLength, minLength = 0, pattern } = isList ? schema.items! : schema;
      const isNumber = type === 'integer' || type === 'number';
      const wrong = [
        ...brokenTexts,
        ...(isNumber ? oddNumbers : []),
        ...(names || (pattern && !new RegExp(pattern, 'u').test('nothing')) ? ['nothing'] : []),
        ...(names || pattern ? [''] : []),
        ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
        ...(minLength > 0 ? [''] : []),
        ...(name === 'path' && route.path.includes('/files/content')
          ? hostilePaths.filter((each) => each.isWellFormed()).map(encodeURIComponent)
          : []),
      ];
      for (const value of wrong) add(`query ${name}=${value.slice(0, 40)}`, { target: instead(name, value) });
      if (!isList) add(`query ${name} twice`, { target: withQuery(`${name}=1&${name}=1`) });
      else
        add(`query ${name} in a flood`, {
          target: withQuery(Array.from({ length: 800 }, () => `${name}=${names?.[0] ?? 'a'}`).join('&')),
        });
    }
    for (const name of ['unheard_of', '__proto__', 'constructor', 'toString', '%ff', '%00', '']) {
      add(`query with ${name}`, { target: withQuery(`${name}=1`) });
    }
    add('query in a flood', { target: withQuery(Array.from({ length: 1500 }, (_, at) => `a${at}=1`).join('&')) });
  };
  const addHeaders = (): void => {
    for (const { name } of parameters.filter((each) => each.in === 'header')) {
      const values = badHeaders[name];
      if (!values) throw new Error(`hostile-requests.ts has no bad values for the header ${name}`);
      for (const value of values) add(`${name}: ${value.slice(0, 40)}`, { headers: { ...headers, [name]: value } });
    }
    for (const authorization of badKeys)
      add(`key ${authorization.slice(0, 40)}`, { headers: { ...headers, authorization } });
    add('another host', { headers: { ...headers, host: 'evil.example' } });
    for (const origin of ['https://evil.example', 'null', 'nothing', ''])
      add(`origin "${origin}"`, { headers: { ...headers, origin } });
    add('a giant header', { headers: { ...headers, 'x-giant': 'x'.repeat(20_000) } });
    add('a flood of headers', {
      headers: { ...headers, ...Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x-${at}`, '1'])) },
    });
  };
  const addMethods = (): void => {
    const isHere = ({ path }: SampleRoute): boolean =>
      new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(address.split('?')[0]!);
    const known = operationsOf(document)
      .filter(isHere)
      .map(({ method }) => method);
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY']) {
      if (!known.includes(method)) add(`method ${method}`, { method });
    }
  };
  const addSizes = (): void => {
    if (!route.requestBody) return;
    add('a length beyond all', { headers: { ...headers, 'content-length': '99999999999' }, body: '{' });
  };
  for (const each of [addBodies, addPaths, addQueries, addHeaders, addMethods, addSizes]) each();
  return made;
};

const withoutRefs = (document: Record<string, unknown>, schema: Schema): Schema => {
  const { schemas } = document.components as { readonly schemas: Readonly<Record<string, Schema>> };
  const resolve = (value: unknown, depth: number): unknown => {
    if (Array.isArray(value)) return value.map((each) => resolve(each, depth));
    if (typeof value !== 'object' || value === null) return value;
    const { $ref } = value as Schema;
    // Stop resolving a recursive schema.
    if ($ref) return depth > 3 ? {} : resolve(schemas[$ref.split('/').at(-1)!], depth + 1);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, depth)]));
  };
  return resolve(schema, 0) as Schema;
};
