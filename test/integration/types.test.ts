import { type } from 'arktype';
import * as v from 'valibot';
import { beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type ClientSession, type ClientSessionOf, connect } from '../../src/client/index.ts';
import type { CheckingSchema } from '../../src/core/session/agent.ts';
import {
  type Agent,
  defineAgent,
  defineScript,
  defineTool,
  type EndedRun,
  type Json,
  type OwnState,
  openRuntime,
  type Run,
  type RunPart,
  type RunResult,
  type Runtime,
  type Session,
  type SessionOf,
} from '../../src/index.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

interface Order {
  status: 'draft' | 'placed';
  items: string[];
  note?: string | undefined;
}
const initial = { status: 'draft', items: [] } satisfies Order as Pick<Order, 'status' | 'items'>;
const script = defineScript({ name: 'counter', everyTurn: true, steps: [{ text: '{"count":"12"}' }] });
const common = { version: 1, initial, model: script } as const;
const counted = z.object({ count: z.string().transform(Number) });

const withZod = defineAgent({
  ...common,
  name: 'zod',
  state: z.object({
    status: z.enum(['draft', 'placed']),
    items: z.array(z.string()),
    note: z.string().optional(),
  }),
  output: counted,
});
const withValibot = defineAgent({
  ...common,
  name: 'valibot',
  state: v.object({
    status: v.picklist(['draft', 'placed']),
    items: v.array(v.string()),
    note: v.optional(v.string()),
  }),
});
const withArkType = defineAgent({
  ...common,
  name: 'arktype',
  state: type({ status: "'draft' | 'placed'", items: 'string[]', 'note?': 'string' }),
});
const untyped = defineAgent({ name: 'untyped', version: 1, model: script });
const secondVersion = defineAgent({
  ...common,
  version: 2,
  name: 'zod',
  state: z.object({ total: z.number() }),
  initial: { total: 0 },
  migrate: () => ({ total: 7 }),
});
const agents = [withZod, withValibot, withArkType, untyped, secondVersion];

describe.each(storeKinds)('the types of an agent on %s', (kind) => {
  let runtime: Runtime;
  beforeAll(async () => {
    const place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address, agents });
    await runtime.worker().start();
    return async () => {
      await runtime.close();
      await place.remove();
    };
  });

  test('[TYPE1] the state and the draft of a commit have the type of the state schema, of any library', async () => {
    const sessions = [
      await runtime.sessions.open({ agent: withZod }),
      await runtime.sessions.open({ agent: withValibot }),
      await runtime.sessions.open({ agent: withArkType }),
    ] as const;
    expectTypeOf((await sessions[0].state()).own).toEqualTypeOf<Readonly<Order>>();
    expectTypeOf((await sessions[1].state()).own).toEqualTypeOf<Readonly<Order>>();
    expectTypeOf((await sessions[2].state()).own.status).toEqualTypeOf<'draft' | 'placed'>();
    expectTypeOf((await sessions[2].state()).own.items).toEqualTypeOf<string[]>();
    for (const session of sessions) {
      await session.commit(({ own }) => {
        own.status = 'placed';
        own.items.push('bell');
      });
      expect((await session.state()).own).toEqual({ status: 'placed', items: ['bell'] });
    }
  });

  test('[TYPE5] a session that is read with the type of its agent, forked or retried keeps its types', async () => {
    const session = await runtime.sessions.open({ agent: withZod });
    const got = await runtime.sessions.get<typeof withZod>(session.id);
    const fork = await got.fork();
    expectTypeOf(got).toEqualTypeOf(session);
    expectTypeOf(fork).toEqualTypeOf(session);
    expectTypeOf(session).toEqualTypeOf<SessionOf<typeof withZod>>();
    await fork.commit(({ own }) => {
      own.note = 'by hand';
    });
    expect((await session.adopt(fork)).adopted).toEqual(['/own/note']);
    await (await session.send('How many?')).result();
    const { run } = await session.retry({ turn: 1 });
    expectTypeOf(run).toEqualTypeOf<Run<{ count: number }> | undefined>();
    expect(await run!.result()).toMatchObject({ output: { count: 12 } });
  });

  test('[TYPE5] binding a session to another version returns a handle with the types of that version', async () => {
    const session = await runtime.sessions.open({ agent: withZod });
    const bound = await session.bind(secondVersion);
    const { own } = await bound.state();
    expectTypeOf(own.total).toEqualTypeOf<number>();
    expect(own.total).toBe(7);
  });

  test('[TYPE1] the output of a run has the type of the output schema; without a schema it is text', async () => {
    const typed = await (await (await runtime.sessions.open({ agent: withZod })).send('How many?')).waitForEnd();
    if (typed.status !== 'succeeded') throw new Error(typed.status);
    expectTypeOf(typed.output).toEqualTypeOf<{ count: number }>();
    expect(typed.output.count + 1).toBe(13);
    const text = await (await (await runtime.sessions.open({ agent: untyped })).send('How many?')).waitForEnd();
    if (text.status !== 'succeeded') throw new Error(text.status);
    expectTypeOf(text.output).toEqualTypeOf<string>();
    expect(text.output).toBe('{"count":"12"}');
  });

  test('[TYPE5, TYPE6] without an agent type, state and output are JSON, and `Session` is a session of any agent', async () => {
    const none = await runtime.sessions.open();
    const { id } = await runtime.sessions.open({ agent: runtime.agents.get('zod', 1) });
    const got = await runtime.sessions.get(id);
    expectTypeOf(none).toEqualTypeOf<Session<OwnState, Json>>();
    expectTypeOf(got).toEqualTypeOf(none);
    const ownOf = async (session: Session): Promise<Readonly<Record<string, unknown>>> => (await session.state()).own;
    expect(await ownOf(await runtime.sessions.get<typeof withZod>(id))).toEqual(initial);
    expect(await ownOf(none)).toEqual({});
  });
});

test('[TYPE1] agents of different types can be in one list', () => {
  const all: readonly Agent[] = agents;
  expect(all.map(({ name }) => name)).toEqual(['zod', 'valibot', 'arktype', 'untyped', 'zod']);
});

test('[TYPE1] a tool receives the value that its input schema parses from the call', async () => {
  const calls: unknown[] = [];
  const schemas = {
    zod: z.object({ count: z.string().transform(Number) }),
    arktype: type({ count: 'string.numeric.parse' }),
  };
  const [zod, arktype] = [
    defineTool({
      name: 'zod',
      input: schemas.zod,
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ count: number }>();
        calls.push(input);
      },
    }),
    defineTool({
      name: 'arktype',
      input: schemas.arktype,
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ count: number }>();
        calls.push(input);
      },
    }),
  ];
  for (const tool of [zod, arktype]) {
    const parsed = tool.parse({ count: '3' });
    await tool.execute((parsed as { value: never }).value, {} as never);
  }
  expect(calls).toEqual([{ count: 3 }, { count: 3 }]);
});

test('[TYPE2] a state schema that changes values is rejected by the compiler with a message that says what to remove', () => {
  type Same = CheckingSchema<Order, Order>;
  type Changing = CheckingSchema<{ port?: number | undefined }, { port: number }>;
  const sentence = 'a state schema must not change values: remove its defaults, coercions, transforms and brands';
  expectTypeOf<Changing>().toExtend<typeof sentence>();
  expectTypeOf<Same>().not.toExtend<typeof sentence>();
});

test('[TYPE3] the status of a run result narrows its type', () => {
  const toldBy = (result: RunResult<number>): unknown => {
    switch (result.status) {
      case 'succeeded':
        expectTypeOf(result.output).toEqualTypeOf<number>();
        return result.output;
      case 'failed':
        expectTypeOf(result.error.code).toEqualTypeOf<string>();
        return result.error.code;
      case 'waiting':
        expectTypeOf(result.waitingFor).toEqualTypeOf<
          'approval' | 'question' | 'budget' | 'human' | 'agent' | 'quota'
        >();
        return result.waitingFor;
      case 'cancelled':
      case 'paused':
        return result.status;
    }
  };
  const about = { run: 'run_1' as never, usage: { inputTokens: 0, outputTokens: 0 } };
  expect(toldBy({ ...about, status: 'succeeded', output: 3 })).toBe(3);
  expect(toldBy({ ...about, status: 'failed', error: { code: 'MODEL_REFUSED', message: '' } })).toBe('MODEL_REFUSED');
  expect(toldBy({ ...about, status: 'waiting', waitingFor: 'budget' })).toBe('budget');
  expectTypeOf<Awaited<ReturnType<Run<number>['waitForEnd']>>>().toEqualTypeOf<EndedRun<number>>();
  expectTypeOf<Extract<RunPart<number>, { type: 'end' }>['result']>().toEqualTypeOf<EndedRun<number>>();
});

test('[TYPE4] the client has the types of an agent, given the agent or only its type', async () => {
  const { server, keys } = await startTestServer({}, { agents });
  const client = connect({ url: server.url, key: keys.member });
  const byType = await client.sessions.open<typeof withValibot>({ agent: 'valibot' });
  expectTypeOf((await byType.state()).own).toEqualTypeOf<Readonly<Order>>();
  const byAgent = await client.sessions.open({ agent: withZod });
  const got = await client.sessions.get<typeof withZod>(byAgent.id);
  const fork = await got.fork();
  expectTypeOf(got).toEqualTypeOf(byAgent);
  expectTypeOf(fork).toEqualTypeOf(byAgent);
  expectTypeOf(byAgent).toEqualTypeOf<ClientSessionOf<typeof withZod>>();
  await fork.commit(({ own }) => {
    own.status = 'placed';
  });
  expect((await fork.state()).own.status).toBe('placed');
  expect((await byAgent.adopt(fork)).adopted).toEqual(['/own/status']);
  const result = await (await got.send('How many?')).result();
  if (result.status !== 'succeeded') throw new Error(result.status);
  expectTypeOf(result.output).toEqualTypeOf<{ count: number }>();
  expect(result.output.count).toBe(12);
  const bound = await got.bind(secondVersion);
  expect((await bound.state()).own.total satisfies number).toBe(7);
  expectTypeOf(await client.sessions.open({ agent: 'untyped' })).toEqualTypeOf<ClientSession<OwnState, Json>>();
});

test('[TYPE3] over HTTP each status of a run has its own schema', async () => {
  const { json } = await startTestServer();
  const { components } = await json('/v1/openapi.json', { key: '' });
  const { oneOf, discriminator } = components.schemas.RunResult;
  expect(discriminator.propertyName).toBe('status');
  const named = Object.values(discriminator.mapping).map(($ref) => ({ $ref }));
  expect(oneOf).toEqual(named);
  for (const [status, ref] of Object.entries<string>(discriminator.mapping)) {
    const schema = components.schemas[ref.replace('#/components/schemas/', '')];
    expect(schema.properties.status).toMatchObject({ const: status });
    expect(schema.required.includes('output')).toBe(status === 'succeeded');
    expect(schema.required.includes('error')).toBe(status === 'failed');
  }
});
