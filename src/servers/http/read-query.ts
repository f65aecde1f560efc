import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';

const innerOf = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? innerOf(schema.unwrap()) : schema;

/** Whether a parameter may be given several times. */
export const isList = (schema: z.core.$ZodType): boolean => innerOf(schema) instanceof z.ZodArray;

/** Of one parameter. */
const maxValues = 100;

/** As the schema expects it: texts, and lists of them. */
export const readQuery = (url: URL, shape: z.ZodRawShape): Record<string, string | string[]> => {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const name of new Set(url.searchParams.keys())) {
    const given = url.searchParams.getAll(name);
    const schema = Object.hasOwn(shape, name) ? shape[name] : undefined;
    const most = schema && isList(schema) ? maxValues : 1;
    if (given.length > most) {
      const times = `${given.length} times, and may be ${most === 1 ? 'once' : `${most} times`}`;
      throw new PerdureError('INVALID_INPUT', `the query: ${name} is given ${times}`);
    }
    query[name] = schema && isList(schema) ? given : given[0]!;
  }
  return { ...query };
};
