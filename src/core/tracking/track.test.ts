import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

const begin = async () => {
  const session = await (await openRuntime({ store: openMemoryStore() })).sessions.open();
  await session.append({ role: 'user', content: 'go' });
  return session;
};

const oddErrors: Readonly<Record<string, unknown>> = {
  'an object without a prototype': Object.create(null),
  'an error whose message is an object': Object.assign(new Error(), { message: { code: 5 } }),
  'an error without a name': Object.assign(new Error('x'), { name: undefined }),
  'an error that cannot be read': Object.defineProperty(new Error(), 'message', {
    get: () => {
      throw new Error('no');
    },
  }),
  nothing: undefined,
  'a symbol': Symbol('s'),
};

test.each(Object.entries(oddErrors))('[TRACK3, TRACK4] the loop receives %s that a tool throws', async (_, thrown) => {
  const session = await begin();
  const { fail } = await session.track({
    fail: async () => {
      throw thrown;
    },
  });
  const caught = await fail().then(
    () => 'nothing was thrown',
    (error) => error,
  );
  expect(caught).toBe(thrown);
  expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'fail', status: 'threw' }]);
});

test('[TRACK7] the loop receives a tool result even if the result cannot be read', async () => {
  const session = await begin();
  const odd = Object.defineProperty({}, 'isError', {
    enumerable: true,
    get: () => {
      throw new Error('no');
    },
  });
  expect(await (await session.track({ give: async () => odd })).give()).toBe(odd);
  expect((await session.toolCalls()).calls).toMatchObject([{ status: 'ok' }]);
});

test('[TRACK1] a failed call is counted, but the state change that its tool declares is not applied', async () => {
  const session = await begin();
  const tools = {
    constructor: async (_: { path: string }): Promise<string> => {
      throw new Error('disk full');
    },
  };
  const files = ({ path }: { path: string }) => ({ [path]: 'modified' as const });
  const tracked = await session.track(tools, { constructor: { files } });
  await expect(tracked.constructor({ path: 'a.ts' })).rejects.toThrow('disk full');
  const { filesModified, toolsUsed } = await session.state();
  expect(filesModified).toEqual({});
  expect(toolsUsed).toEqual({ constructor: { calls: 1, ok: 0, failed: 1 } });
  expect((await session.commits()).commits).toMatchObject([{ outputSummary: 'threw: disk full' }]);
});

test('[TRACK1] a long output is summarized without cutting a character', async () => {
  const session = await begin();
  const { read } = await session.track({ read: async () => `${'x'.repeat(498)}😀😀` });
  await read();
  expect((await session.commits()).commits).toMatchObject([{ outputSummary: `${'x'.repeat(498)}…` }]);
});

test('[TRACK3] inside tools `this` is unchanged', async () => {
  const session = await begin();
  const tools = await session.track({
    whole() {
      return this.part().length;
    },
    part: () => 'abc',
  });
  expect(await tools.whole()).toBe(3);
  const { whole } = tools;
  expect(await whole.call({ part: () => 'ab' } as never)).toBe(2);
  expect((await session.toolCalls()).calls.map(({ tool }) => tool)).toEqual(['whole', 'whole']);
});

test('[TRACK3] methods of a class work as tools and can use its private fields', async () => {
  class Base {
    close() {
      return 'closed';
    }
  }
  class Files extends Base {
    #read = 0;
    root = '/src';
    get count() {
      return this.#read;
    }
    async read({ path }: { path: string }) {
      this.#read += 1;
      return `${this.root}/${path}`;
    }
  }
  const session = await begin();
  const files = new Files();
  const tools = await session.track(files);
  expect(await tools.read({ path: 'a' })).toBe('/src/a');
  tools.root = '/lib';
  expect(await tools.read({ path: 'a' })).toBe('/lib/a');
  expect([files.root, tools.count]).toEqual(['/lib', 2]);
  expect(await tools.close()).toBe('closed');
  expect(tools).toBeInstanceOf(Files);
  expect((await session.toolCalls()).calls.map(({ tool }) => tool)).toEqual(['close', 'read', 'read']);
});

test('[TRACK3] a function keeps its name and its properties', async () => {
  const session = await begin();
  const readFile = Object.assign(
    async function readFile({ path }: { path: string }) {
      return path;
    },
    { description: 'reads' },
  );
  const { read } = await session.track({ read: readFile });
  expect([read.name, read.length, read.description]).toEqual(['readFile', 1, 'reads']);
  expect(await read({ path: 'a' })).toBe('a');
});

test('[TRACK5] concurrent calls to which a loop assigns the same id get separate ids', async () => {
  const session = await begin();
  const waiting = { slow: Promise.withResolvers<string>(), quick: Promise.withResolvers<string>() };
  const { wait } = await session.track({
    wait: (name: keyof typeof waiting, _: { toolCallId: string }) => waiting[name].promise,
  });
  const [slow, quick] = [wait('slow', { toolCallId: 'c' }), wait('quick', { toolCallId: 'c' })];
  waiting.quick.resolve('soon');
  await quick;
  const [newer, older] = (await session.toolCalls()).calls;
  expect([newer, older]).toMatchObject([{ status: 'ok' }, { callId: 'c', status: 'running' }]);
  expect(await session.recall(`call:${newer!.callId}`)).toMatchObject({ input: 'quick', output: 'soon' });
  await session.close();
  expect((await session.toolCalls()).calls.map(({ status }) => status)).toEqual(['ok', 'interrupted']);
  waiting.slow.resolve('late');
  expect(await slow).toBe('late');
});

test('[TRACK5] an id can be reused when its call has ended or was abandoned by another tracker', async () => {
  const { sessions } = await openRuntime({ store: openMemoryStore() });
  const session = await sessions.open();
  await session.append({ role: 'user', content: 'go' });
  const started = Promise.withResolvers<void>();
  const give = async (each: typeof session) =>
    (await each.track({ give: async (_: object, __: { toolCallId: string }) => 1 })).give;
  for (let times = 0; times < 2; times++) await (await give(session))({}, { toolCallId: 'c' });
  const hang = (_: object, __: { toolCallId: string }) => {
    started.resolve();
    return new Promise(() => {});
  };
  void (await session.track({ hang })).hang({}, { toolCallId: 'd' });
  await started.promise;
  const other = await sessions.get(session.id);
  await (await give(other))({}, { toolCallId: 'd' });
  expect((await session.toolCalls()).calls.map(({ callId, status }) => [callId, status])).toEqual([
    ['d', 'ok'],
    ['d', 'interrupted'],
    ['c', 'ok'],
    ['c', 'ok'],
  ]);
});

test('[IN1] a value without tools is rejected', async () => {
  const session = await begin();
  class Nothing {
    base = 'x';
  }
  const then = async () => 1;
  for (const tools of [[then], new Map(), new Nothing(), { base: 'x' }, { then }, null]) {
    await expect(session.track(tools as object)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  }
  for (const refund of [{ effects: 'twice' }, { reconcile: 'ask' }]) {
    await expect(session.track({ refund: then }, { refund: refund as never })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  }
  expect((await session.summary()).seq).toBe(2);
});
