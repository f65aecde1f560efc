import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createDatabase } from '../../../test/support/postgres/postgres.ts';
import { openRuntime } from '../../index.ts';

/** Records the names of the prepared statements sent so far. */
const recordStatements = () => {
  const names = new Set<string>();
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...asked: unknown[]
  ) {
    const [{ name }] = asked as [{ name?: string }];
    if (name) names.add(name);
    return Reflect.apply(query, this, asked);
  } as typeof query);
  onTestFinished(() => void spy.mockRestore());
  return names;
};

const openedSession = async () => {
  const database = await createDatabase();
  const first = await openRuntime({ store: database.url });
  const session = await first.sessions.open();
  await session.append({ role: 'user', content: 'hello' });
  await first.close();
  onTestFinished(() => database.drop());
  return { url: database.url, id: session.id };
};

test('an idle store has prepared every statement that opening a session uses', async () => {
  const { url, id } = await openedSession();
  const statements = recordStatements();
  const runtime = await openRuntime({ store: url });
  onTestFinished(() => runtime.close());
  await vi.waitFor(() => expect(statements).toContain('perdure.find_record'), 5000);
  const prepared = new Set(statements);
  statements.clear();
  const context = await (await runtime.sessions.get(id)).context();
  expect(context.messages).toHaveLength(1);
  expect(statements.size).toBeGreaterThan(2);
  expect([...statements].filter((name) => !prepared.has(name))).toEqual([]);
});

test('a store that is used or closed immediately prepares no extra statements', async () => {
  const { url, id } = await openedSession();
  const statements = recordStatements();
  const closed = await openRuntime({ store: url });
  await closed.close();
  const used = await openRuntime({ store: url });
  onTestFinished(() => used.close());
  await used.sessions.get(id);
  await pause(200);
  expect([...statements]).toEqual(['perdure.find_head']);
});
