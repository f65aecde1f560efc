import type { RuntimeStore } from '../core/ports/runtime-store.ts';
import { PerdureError } from '../schema/error.ts';

export type StoreAddress = { readonly url: string } | { readonly file: string };

export const sqliteFileIn = (address: string): string | undefined => /^sqlite:(.+)$/.exec(address)?.[1];

const parseAddress = (address: string): StoreAddress => {
  if (/^postgres(ql)?:\/\//.test(address)) return { url: address };
  const file = sqliteFileIn(address);
  if (file && file !== ':memory:') return { file };
  const shown = address.replace(/\/\/[^@/]*@/, '//…@');
  const path = /^[^:]+$/.test(address) ? address : 'PATH';
  throw new PerdureError('INVALID_INPUT', `"${shown}" is not a store: pass sqlite:${path} or postgres://…`);
};

/** Parses the `store` option: an address, or a store object of the program. Opens nothing. */
export const parseStore = (given: unknown): StoreAddress | RuntimeStore => {
  if (typeof given === 'string') return parseAddress(given);
  if (typeof (given as Partial<RuntimeStore> | null | undefined)?.append === 'function') return given as RuntimeStore;
  throw new PerdureError('INVALID_INPUT', 'a store is needed: pass { store: "sqlite:PATH" } or "postgres://…"');
};
