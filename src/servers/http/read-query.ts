import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { clipped } from '../../schema/parse-input.ts';

const innerOf = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? innerOf(schema.unwrap()) : schema;

/** Whether a parameter may be given several times. */
export const isList = (schema: z.core.$ZodType): boolean => innerOf(schema) instanceof z.ZodArray;

/** Of one parameter. */
const maxValues = 100;
/** A list that is full, and what may be given beside it. */
const maxParameters = maxValues + 50;

/** As the schema expects it: texts, and lists of them. */
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
      const times = `${pairs.length} times, and may be ${most === 1 ? 'once' : `${most} times`}`;
      throw new PerdureError('INVALID_INPUT', `the query: ${clipped(name)} is given ${times}`);
    }
    const values = pairs.map(([, value]) => value);
    query[name] = takesList ? values : values[0]!;
  }
  return { ...query };
};
