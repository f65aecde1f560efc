import { backup, DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openRuntime, type Session } from '../../src/index.ts';
import { newSqliteFile } from '../support/stores/sqlite-file.ts';

const copy = async (from: string, to: string): Promise<void> => {
  const db = new DatabaseSync(from);
  await backup(db, to);
  db.close();
};

const open = async (file: string) => {
  const runtime = await openRuntime({ store: `sqlite:${file}` });
  onTestFinished(() => runtime.close());
  return runtime;
};

/**
 * Opens two runtimes on one store. The store loses the last commit of the first runtime, which stays open, and then
 * holds another commit in its place.
 */
const lose = async (): Promise<{ first: Session; second: Session }> => {
  const [file, kept] = [newSqliteFile(), newSqliteFile()];
  const first = await (await open(file)).sessions.open();
  await first.append({ role: 'user', content: 'Hello' });
  await copy(file, kept);
  await first.commit((draft) => Object.assign(draft.facts, { lost: { count: 1 } }));
  await copy(kept, file);
  const second = await (await open(file)).sessions.get(first.id);
  await second.commit((draft) => Object.assign(draft.facts, { kept: 'here' }));
  return { first, second };
};

test('[FOLD7] a runtime that stays open through a lost commit reads the commit that replaced it', async () => {
  const { first } = await lose();
  expect((await first.state()).facts).toEqual({ kept: 'here' });
});

test("[FOLD7] a decision based on a lost commit is made again on the store's current state", async () => {
  const { first, second } = await lose();
  const seen: unknown[] = [];
  await first.commit((draft) => {
    seen.push(Object.keys(draft.facts));
    Object.assign(draft.facts, { more: 1 });
  });
  expect(seen).toEqual([['lost'], ['kept']]);
  expect((await second.state()).facts).toEqual({ kept: 'here', more: 1 });
  expect(await second.verify()).toMatchObject({ ok: true });
});

test("[FOLD7] a fact that lands after a lost commit is folded onto the store's current state", async () => {
  const { first, second } = await lose();
  await first.append({ role: 'assistant', content: 'Hi.' });
  for (const session of [first, second]) expect((await session.state()).facts).toEqual({ kept: 'here' });
  await second.append({ role: 'user', content: 'On' });
  expect((await first.state()).facts).toEqual({ kept: 'here' });
  expect(await first.verify()).toMatchObject({ ok: true });
});

test('[FOLD7] later events are not folded onto the lost event, but onto the one that replaced it', async () => {
  const { first, second } = await lose();
  await second.commit((draft) => Object.assign(draft.facts, { more: 1 }));
  expect((await first.state()).facts).toEqual({ kept: 'here', more: 1 });
});
