import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { clipped } from '../../schema/parse-input.ts';

const innerOf = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? innerOf(schema.unwrap()) : schema;

/** Whether a parameter may be repeated. */
export const isList = (schema: z.core.$ZodType): boolean => innerOf(schema) instanceof z.ZodArray;

/** Maximum values of one parameter. */
const maxValues = 100;
/** Allows one full list and some other parameters. */
const maxParameters = maxValues + 50;

/** Parses the query into strings, and into lists of strings where the schema expects lists. */
export const readQuery = ({ search }: URL, shape: z.ZodRawShape): Record<string, string | string[]> => {
  if (search.split('&').length > maxParameters) {
    throw new PerdureError('INVALID_INPUT', `the query has more than ${maxParameters} parameters`);
  }
  const given = Map.groupBy(new URLSearchParams(search), ([name]) => name);
  const query: Record<string, string | string[]> = Object.create(null);
  for (const [name, pairs] of given) {
    const schema = Object.hasOwn(shape, name) ? shape[name] : undefined;
    const takesList = schema !== undefined && isList(schema);
    const most = takesList ? maxValues : 1;
    if (pairs.length > most) {
      const times = `${pairs.length} times; allowed: ${most === 1 ? 'once' : `${most} times`}`;
      throw new PerdureError('INVALID_INPUT', `the query: ${clipped(name)} is given ${times}`);
    }
    const values = pairs.map(([, value]) => value);
    query[name] = takesList ? values : values[0]!;
  }
  return { ...query };
};
