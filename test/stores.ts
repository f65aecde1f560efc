import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from './postgres.ts';

/** A place for a store of its own; `address` is what openRuntime takes. */
export interface StorePlace {
  readonly address: string;
  remove(): Promise<void>;
}

export const storeKinds = ['sqlite', 'postgres'] as const;
export type StoreKind = (typeof storeKinds)[number];

const makers: Record<StoreKind, () => Promise<StorePlace>> = {
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-'));
    return { address: `sqlite:${join(folder, 'perdure.db')}`, remove: () => rm(folder, { recursive: true }) };
  },
  postgres: async () => {
    const database = await createDatabase();
    return { address: database.url, remove: database.drop };
  },
};

export const newStorePlace = (kind: StoreKind): Promise<StorePlace> => makers[kind]();
