import { expect, test } from 'vitest';
import type { Context } from '../parse/command.ts';
import { parseWorkerOptions } from './worker-options.ts';

const agents = [
  { name: 'coder', version: 1 },
  { name: 'coder', version: 2 },
  { name: 'demo', version: 1 },
];
const context = { config: async () => ({ agents }) } as unknown as Context;

test('[WORKER10, CLI1] the limit of an agent applies to each of its versions, or to the named one', async () => {
  expect(
    await parseWorkerOptions(context, { 'per-agent': ['coder=2', 'demo@1=5'], 'per-workspace': '8', lease: '10s' }),
  ).toEqual({
    concurrency: undefined,
    leaseMs: 10_000,
    limits: { perWorkspace: 8, perAgent: { 'coder@1': 2, 'coder@2': 2, 'demo@1': 5 } },
  });
  expect(await parseWorkerOptions(context, {})).not.toHaveProperty('limits');
});

test.each([
  [{ 'per-agent': ['nobody=2'] }, /no agent "nobody": there are coder@1, coder@2, demo@1/],
  [{ 'per-agent': ['coder'] }, /NAME=N, such as coder=2, with N from 1 to 1000000; got "coder"/],
  [{ 'per-agent': ['coder=0'] }, /NAME=N/],
  [{ 'per-agent': ['coder=1000001'] }, /NAME=N/],
  [{ 'per-workspace': '0' }, /--per-workspace is a whole number from 1 to 1000000; got "0"/],
  [{ 'per-workspace': '1000001' }, /--per-workspace is a whole number from 1 to 1000000/],
  [{ concurrency: 'many' }, /--concurrency is a whole number from 1 to 1000; got "many"/],
  [{ concurrency: '1001' }, /--concurrency is a whole number from 1 to 1000/],
])('[CLI1, WORKER14, WORKER21] %o is refused with the expected form', async (given, said) => {
  await expect(parseWorkerOptions(context, given)).rejects.toThrow(said);
});

test.each(['soon', '0s', '1ms', '25h', '100d'])(
  '[CLI1, WORKER14] --lease %s is refused with the expected form',
  async (lease) => {
    await expect(parseWorkerOptions(context, { lease })).rejects.toThrow(
      `--lease is a time from 1s to 24h, such as 10s, 30s or 5min; got "${lease}"`,
    );
  },
);
