import { isCount } from '../is-count.ts';

/** The schema version that a database records about itself. */
export interface Meta {
  /** The number of the last migration. */
  readonly schema: number;
  readonly oldest_reader: string;
}

export const metaAdvice = 'restore it from a backup';

const isRelease = (value: unknown): boolean => typeof value === 'string' && /^\d+\.\d+\.\d+(?:[-+]|$)/.test(value);

/** Parses the row. Returns undefined if no migration could have written it. */
export const parseMeta = (row: unknown): Meta | undefined => {
  const { schema, oldest_reader } = (row ?? {}) as Partial<Meta>;
  return isCount(schema) && schema >= 1 && isRelease(oldest_reader) ? (row as Meta) : undefined;
};
