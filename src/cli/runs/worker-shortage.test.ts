import { expect, test } from 'vitest';
import type { Session } from '../../core/runtime/session.ts';
import type { Context } from '../parse/command.ts';
import { workerShortage } from './worker-shortage.ts';

const worker = { status: 'working', agents: ['coder@1'], hasRoom: false };
const session = { summary: async () => ({ agent: { name: 'coder', version: 1 } }) } as unknown as Session;

test.each([
  ['none is there', [], /none has the agent coder@1;/],
  [
    'those that are there hold others',
    [{ ...worker, agents: ['coder@2'], hasRoom: true }],
    /none has the agent coder@1;/,
  ],
  ['one that holds it is lost', [{ ...worker, status: 'lost', hasRoom: true }], /none has the agent coder@1;/],
  ['one that holds it drains', [{ ...worker, status: 'draining', hasRoom: true }], /none has the agent coder@1;/],
  ['all that hold it are busy', [worker, { ...worker, agents: ['other@1'], hasRoom: true }], /yet: all are busy;/],
])('[CLIR10] %s: whoever waits is told so', async (_, workers, told) => {
  const context = { runtime: async () => ({ workers: async () => workers }) } as unknown as Context;
  expect(await workerShortage(context, session)).toMatch(told);
});

test('[CLIR10] while a worker is free for it, nothing is told', async () => {
  const workers = async () => [worker, { ...worker, hasRoom: true }];
  const context = { runtime: async () => ({ workers }) } as unknown as Context;
  expect(await workerShortage(context, session)).toBeUndefined();
});
