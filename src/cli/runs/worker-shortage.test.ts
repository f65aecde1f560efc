import { expect, test } from 'vitest';
import type { Session } from '../../core/runtime/session.ts';
import { PerdureError } from '../../schema/error.ts';
import type { Context } from '../parse/command.ts';
import { workerShortage } from './worker-shortage.ts';

const worker = { status: 'working', agents: ['coder@1'], hasRoom: false, holds: ['ses_2'] };
const session = { id: 'ses_1', summary: async () => ({ agent: { name: 'coder', version: 1 } }) } as unknown as Session;

test.each([
  ['there is no worker', [], /none has the agent coder@1;/],
  ['the workers have other agents', [{ ...worker, agents: ['coder@2'], hasRoom: true }], /none has the agent coder@1;/],
  ['the worker with the agent is lost', [{ ...worker, status: 'lost', hasRoom: true }], /none has the agent coder@1;/],
  [
    'the worker with the agent drains',
    [{ ...worker, status: 'draining', hasRoom: true }],
    /none has the agent coder@1;/,
  ],
  [
    'all workers with the agent are busy',
    [worker, { ...worker, agents: ['other@1'], hasRoom: true }],
    /yet: all are busy;/,
  ],
])('[CLIR10] %s: the reason is reported', async (_, workers, expected) => {
  const context = { runtime: async () => ({ workers: async () => workers }) } as unknown as Context;
  expect(await workerShortage(context, session)).toEqual({ isKnown: true, text: expect.stringMatching(expected) });
});

test('[CLIR10] nothing is reported while a worker has capacity for the run', async () => {
  const workers = async () => [worker, { ...worker, hasRoom: true }];
  const context = { runtime: async () => ({ workers }) } as unknown as Context;
  expect(await workerShortage(context, session)).toBeUndefined();
});

test('[PIPE10] nothing is reported while a busy worker holds the session itself', async () => {
  const workers = async () => [{ ...worker, holds: ['ses_1'] }];
  const context = { runtime: async () => ({ workers }) } as unknown as Context;
  expect(await workerShortage(context, session)).toBeUndefined();
});

test('[PIPE10] a key that may not list the workers does not know whether there is one', async () => {
  const workers = () => Promise.reject(new PerdureError('FORBIDDEN', 'not with this key'));
  const context = { runtime: async () => ({ workers }) } as unknown as Context;
  expect(await workerShortage(context, session)).toMatchObject({ isKnown: false });
});
