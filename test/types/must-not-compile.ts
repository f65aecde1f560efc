/**
 * Programs that the types must reject. `tsc` fails if a line compiles although the comment above it expects an error.
 * Nothing here runs.
 */
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import type { Client } from '../../src/client/index.ts';
import { defineAgent, defineTool, type Json, type OwnState, type Runtime, type Session } from '../../src/index.ts';

const about = { name: 'shop', version: 1 };
const Order = z.object({ status: z.enum(['draft', 'placed']), items: z.array(z.string()) });
const shop = defineAgent({ ...about, state: Order, output: z.object({ count: z.number() }) });

export const models = () => {
  // @ts-expect-error a number is no model
  defineAgent({ ...about, model: ['anthropic/a', 7] });
  // @ts-expect-error a list of fallbacks has no lists in it
  defineAgent({ ...about, model: ['anthropic/a', ['openai/b']] });
  // @ts-expect-error there is no such policy
  defineAgent({ ...about, model: ['anthropic/a', 'openai/b'], policies: { onModelFailure: 'retry' } });
};

export const stateSchemas = () => {
  // @ts-expect-error a default adds a value that the stored state does not have
  defineAgent({ ...about, state: z.object({ port: z.number().default(80) }) });
  // @ts-expect-error a transform returns another type than the stored one
  defineAgent({ ...about, state: z.object({ at: z.string().transform(Number) }) });
  // @ts-expect-error a coercion accepts values that are not numbers
  defineAgent({ ...about, state: z.object({ port: z.coerce.number() }) });
  // @ts-expect-error only parsed values have a brand, stored ones do not
  defineAgent({ ...about, state: z.object({ id: z.string().brand('id') }) });
  // @ts-expect-error a default of Valibot
  defineAgent({ ...about, state: v.object({ port: v.optional(v.number(), 80) }) });
  // @ts-expect-error a transform of Valibot
  defineAgent({ ...about, state: v.object({ at: v.pipe(v.string(), v.transform(Number)) }) });
  // @ts-expect-error a default of ArkType
  defineAgent({ ...about, state: type({ port: 'number = 80' }) });
  // @ts-expect-error a morph of ArkType
  defineAgent({ ...about, state: type({ at: 'string.numeric.parse' }) });
  // @ts-expect-error a transform to `any` hides what the output is
  defineAgent({ ...about, state: z.object({ a: z.string().transform((text) => JSON.parse(text)) }) });
  // @ts-expect-error a transform that drops an optional key
  defineAgent({ ...about, state: z.object({ a: z.string().optional() }).transform(() => ({})) });
  // @ts-expect-error the own part of a state must be an object
  defineAgent({ ...about, state: z.string() });
  // @ts-expect-error the initial state lacks `items`
  defineAgent({ ...about, state: Order, initial: { status: 'draft' } });
  // @ts-expect-error `migrate` returns a state that the schema does not accept
  defineAgent({ ...about, state: Order, migrate: () => ({ status: 'lost', items: [] }) });
};

export const states = async (session: Session<z.input<typeof Order>>) => {
  const { own } = await session.state();
  // @ts-expect-error the schema has no such key
  own.state;
  // @ts-expect-error 'lost' is not a status
  own.status === 'lost';
  // @ts-expect-error a state that was read is readonly
  own.status = 'placed';
};

export const commits = async (runtime: Runtime) => {
  const session = await runtime.sessions.open({ agent: shop });
  await session.commit(({ own }) => {
    // @ts-expect-error a wrong value
    own.status = 'lost';
    // @ts-expect-error a wrong key
    own.state = 'draft';
    // @ts-expect-error a wrong item
    own.items.push(1);
    // @ts-expect-error the schema requires this key
    delete own.status;
  });
  await session.commit((draft) => {
    // @ts-expect-error the ledger has no such collection
    draft.notes = {};
    // @ts-expect-error a step needs an order
    draft.plan.a = { step: 'look', status: 'todo' };
  });
  const fork = await session.fork();
  await fork.commit(({ own }) => {
    // @ts-expect-error a fork keeps the types
    own.status = 'lost';
  });
  const got = await runtime.sessions.get<typeof shop>(session.id);
  await got.commit(({ own }) => {
    // @ts-expect-error a session that is read with the type of its agent has its types
    own.status = 'lost';
  });
};

export const untypedCommits = async (session: Session<OwnState, Json>) => {
  await session.commit(({ own, facts }) => {
    // @ts-expect-error a date is not JSON
    own.at = new Date();
    // @ts-expect-error a function is not JSON
    facts.at = () => 1;
  });
};

export const results = async (runtime: Runtime) => {
  const session = await runtime.sessions.open({ agent: shop });
  const run = await session.send('How many?');
  const result = await run.result();
  // @ts-expect-error only a run that succeeded has an output
  result.output;
  // @ts-expect-error only a run that failed has an error
  result.error;
  // @ts-expect-error only a run that waits says for what
  result.waitingFor;
  if (result.status === 'succeeded') {
    // @ts-expect-error the output schema has no such key
    result.output.total;
    // @ts-expect-error a count is a number
    result.output.count.length;
  }
  const end = await run.waitForEnd();
  // @ts-expect-error a run that has ended does not wait
  end.status === 'waiting';
  const now = await run.status();
  if (now.status === 'running') {
    // @ts-expect-error a run in progress has no output yet
    now.output;
  }
};

export const clients = async (client: Client) => {
  const session = await client.sessions.open<typeof shop>({ agent: 'shop' });
  // @ts-expect-error the schema has no such key
  (await session.state()).own.state;
  await session.commit(({ own }) => {
    // @ts-expect-error a wrong value
    own.status = 'lost';
  });
  const result = await (await session.send('How many?')).result();
  // @ts-expect-error only a run that succeeded has an output
  result.output;
  // @ts-expect-error an agent is a name, a name and version, or the result of defineAgent
  await client.sessions.open({ agent: 7 });
};

export const tools = () => {
  const input = z.object({ count: z.string().transform(Number) });
  // @ts-expect-error the parsed value is a number
  defineTool({ name: 'zod', input, execute: ({ count }) => count.length });
  // @ts-expect-error the input has no such key
  defineTool({ name: 'zod', input, execute: ({ total }) => total });
  // @ts-expect-error a tool receives only the secrets that it names
  defineTool({ name: 'zod', input, secrets: ['github'], execute: (_, { secrets }) => secrets.gitlab });
  const parsed = v.object({ count: v.pipe(v.string(), v.transform(Number)) });
  // @ts-expect-error with Valibot too, the parsed value is a number
  defineTool({ name: 'valibot', input: parsed, execute: ({ count }) => count.length });
};

export const waitingView = async (session: Session, client: Client) => {
  const { waiting } = await session.state();
  // @ts-expect-error what a session waits for cannot be assigned
  waiting.inputs = {};
  // @ts-expect-error a commit has no access to what the session waits for
  await session.commit((draft) => void draft.waiting);
  // @ts-expect-error the same for a client
  await (await client.sessions.get('')).commit((draft) => void draft.waiting);
};
