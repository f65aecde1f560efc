import { isCount } from '../is-count.ts';

/** What a database says of its schema. */
export interface Meta {
  /** The number of its last migration. */
  readonly schema: number;
  readonly oldest_reader: string;
}

export const metaAdvice = 'restore it from a backup';

const isRelease = (value: unknown): boolean => typeof value === 'string' && /^\d+\.\d+\.\d+(?:[-+]|$)/.test(value);

/** Undefined when it is not what a migration leaves there. */
export const parseMeta = (row: unknown): Meta | undefined => {
  const { schema, oldest_reader } = (row ?? {}) as Partial<Meta>;
  return isCount(schema) && schema >= 1 && isRelease(oldest_reader) ? (row as Meta) : undefined;
};
