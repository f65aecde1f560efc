import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { permissionFor } from '../../core/runtime/permissions.ts';
import { openApi } from './openapi.ts';
import { parameterTexts } from './parameter-texts.ts';
import { statusOf } from './problem.ts';
import { routes } from './routes/index.ts';

test("[HTTP2] the description of the API passes Redocly's linter without an error", async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: JSON.stringify(openApi(routes, '0.0.1')), config });
  const errors = problems.filter(({ severity }) => severity === 'error');
  expect(errors.map(({ message, location }) => `${message} ${location[0]?.pointer}`)).toEqual([]);
});

test('[HTTP2] every route is described with the role it requires', () => {
  const { paths } = openApi(routes, '0.0.1') as { paths: Record<string, Record<string, Record<string, unknown>>> };
  for (const { path, method, verb, name } of routes) {
    const operation = paths[path]?.[method.toLowerCase()];
    expect(operation).toMatchObject({ operationId: name, 'x-perdure-role': permissionFor(verb).role });
  }
  const names = routes.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('[HTTP2] every status of a client error is described', () => {
  const { paths } = openApi(routes, '0.0.1') as { paths: Record<string, Record<string, { responses: object }>> };
  const own = Object.values(statusOf).filter((status) => status < 500 && status !== 405);
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining([...new Set(own)].map(String)));
  }
});

test('[HTTP2] every supported header is described on exactly the routes that use it', () => {
  const { paths } = openApi(routes, '0.0.1') as {
    paths: Record<string, Record<string, { operationId: string; parameters: { in: string; name: string }[] }>>;
  };
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const taking = (header: string): readonly string[] =>
    operations
      .filter(({ parameters }) => parameters.some((each) => each.in === 'header' && each.name === header))
      .map(({ operationId }) => operationId);
  expect(taking('Last-Event-ID')).toEqual(['readEvents', 'readRunEvents', 'streamRun', 'watchWorkspace']);
  expect(taking('If-None-Match')).toEqual(['readState']);
  expect(taking('If-Match')).toEqual(['commitState']);
  const changing = routes.filter(({ method }) => method !== 'GET').map(({ name }) => name);
  const keyless = changing.filter((name) => !taking('Idempotency-Key').includes(name));
  expect(keyless).toEqual([
    'importSessions',
    'createKey',
    'createToken',
    'rotateKey',
    'setSecret',
    'addWebhook',
    'rotateWebhook',
  ]);
});

test('[HTTP2, HTTP3] an idempotency key is described with its minimum and maximum length', () => {
  const { paths } = openApi(routes, '0.0.1') as {
    paths: Record<string, Record<string, { parameters: { name: string; schema: object }[] }>>;
  };
  const [key] = paths['/v1/sessions']!.post!.parameters.filter(({ name }) => name === 'Idempotency-Key');
  expect(key).toMatchObject({
    description: expect.stringContaining('done once'),
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  });
});

test('[HTTP2] the routes that answer an approval say that the approval determines who may answer it', () => {
  const { paths } = openApi(routes, '0.0.1') as {
    paths: Record<string, Record<string, { description: string; 'x-perdure-whom'?: string }>>;
  };
  for (const answer of ['approve', 'deny'] as const) {
    const { description, 'x-perdure-whom': whom } = paths[`/v1/approvals/{approval}/${answer}`]!.post!;
    expect(whom).toBe(permissionFor(`approvals.${answer}`).whom);
    expect(description).toContain('the rule of the approval itself decides');
  }
});

test('[HTTP2] every query parameter has a description', () => {
  const { paths } = openApi(routes, '0.0.1') as {
    paths: Record<string, Record<string, { parameters: { in: string; name: string; description?: string }[] }>>;
  };
  const all = Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(({ parameters }) => parameters));
  expect(all.filter((each) => each.in === 'query' && !each.description)).toEqual([]);
  const named = new Set(all.filter((each) => each.in === 'query').map(({ name }) => name));
  expect(Object.keys(parameterTexts).filter((name) => !named.has(name))).toEqual([]);
});
