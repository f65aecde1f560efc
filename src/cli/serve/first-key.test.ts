import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Runtime } from '../../runtime.ts';
import type { Context } from '../parse/command.ts';
import { firstKey } from './first-key.ts';

interface Key {
  readonly id: string;
  revokedAt?: number;
}

/** A registry that stores keys in an order that differs from the order of their ids. */
const newRegistry = (ids: string[], beforeCreate: (id: string) => Promise<unknown> = async () => undefined) => {
  const all: Key[] = [];
  const keys = {
    list: async () => all.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((key) => ({ ...key })),
    create: async () => {
      const id = ids.shift()!;
      await beforeCreate(id);
      const key: Key = { id };
      all.push(key);
      return { key: { ...key }, token: `token of ${id}` };
    },
    revoke: async (id: string) => {
      const key = all.find((each) => each.id === id)!;
      key.revokedAt ??= 1;
    },
  };
  const runtime = async () => ({ keys, members: { add: async () => undefined } });
  return { all, context: { runtime } as unknown as Context };
};

const newData = (): Runtime => {
  const data = mkdtempSync(join(tmpdir(), 'perdure-first-key-'));
  onTestFinished(() => rmSync(data, { recursive: true }));
  return { data } as Runtime;
};

test('[HTTP10] of two servers that create a first key, the later one gives up its key, even if its id sorts first', async () => {
  const runtime = newData();
  const first = Promise.withResolvers<unknown>();
  const { all, context } = newRegistry(['key_2', 'key_1'], (id) =>
    id === 'key_1' ? first.promise : Promise.resolve(),
  );
  const both = [firstKey(context, runtime), firstKey(context, runtime)];
  first.resolve(both[0]);
  expect(await Promise.all(both)).toEqual([{ token: 'token of key_2', isKept: true }, undefined]);
  expect(all).toEqual([{ id: 'key_2' }, { id: 'key_1', revokedAt: 1 }]);
});

test('[HTTP10] of many servers that start at the same time, exactly one ends up with a key', async () => {
  const runtime = newData();
  const { all, context } = newRegistry(Array.from({ length: 1000 }, (_, place) => `key_${1999 - place}`));
  const made = await Promise.all(Array.from({ length: 6 }, () => firstKey(context, runtime)));
  const [shown, ...more] = made.flatMap((key) => key ?? []);
  expect(more).toEqual([]);
  const counting = all.filter(({ revokedAt }) => revokedAt === undefined);
  expect(counting.map(({ id }) => `token of ${id}`)).toEqual([shown?.token]);
});
