import { expect, test } from 'vitest';
import { z } from 'zod';
import { emptyState } from '../schema/state.ts';
import { defineTool } from './define-tool.ts';

const defined = (part: object) =>
  defineTool({ name: 'deploy', input: z.object({}), execute: () => 'done', ...part } as never);

test.each([
  ['effects', { effects: 'idempotnet' }],
  ['repeat', { repeat: 'never' }],
  ['repeat', { effects: 'idempotent', repeat: 'deny' }],
  ['confined', { confined: 'yes' }],
  ['timeoutMs', { timeoutMs: 0 }],
  ['timeoutMs', { timeoutMs: Number.NaN }],
  ['timeoutMs', { timeoutMs: 2 ** 33 }],
  ['retry', { effects: 'none', retry: { times: '3' } }],
  ['retry', { effects: 'none', retry: { times: 3, backoff: 10 } }],
  ['approval', { approval: { roles: ['boss'] } }],
  ['approval', { approval: { roles: [] } }],
  ['approval', { approval: { expiresMs: 1000 } }],
  ['approval', { approval: 'yes' }],
  ['secrets', { secrets: 'github' }],
  ['secrets', { secrets: ['a b'] }],
  ['trusted', { trusted: 'yes' }],
  ['execute', { execute: undefined }],
  ['reconcile', { reconcile: 'ask' }],
])('[IN8] a tool with an invalid %s is rejected: %o', (field, part) => {
  expect(() => defined(part)).toThrow(
    expect.objectContaining({ code: 'TOOL_INVALID', message: expect.stringContaining(field) }),
  );
});

test.each([undefined, 'yes', { expires: 1 }])(
  '[APPR1] an approval function that returns %o does not allow the call',
  async (given) => {
    const tool = defined({ approval: () => given });
    await expect(tool.approvalFor({}, { state: emptyState })).rejects.toMatchObject({ code: 'TOOL_INVALID' });
  },
);

test('[APPR1] an approval function can return a rule, or false for no approval', async () => {
  const tool = defined({ approval: () => ({ roles: ['admin'], expiresInMs: 1000 }) });
  expect(await tool.approvalFor({}, { state: emptyState })).toEqual({ roles: ['admin'], expiresInMs: 1000 });
  expect(await defined({ approval: () => false }).approvalFor({}, { state: emptyState })).toBeUndefined();
});
