import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';

const innerOf = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? innerOf(schema.unwrap()) : schema;

/** Whether a parameter may be given several times. */
export const isList = (schema: z.core.$ZodType): boolean => innerOf(schema) instanceof z.ZodArray;

/** As the schema expects it: texts, and lists of them. */
export const readQuery = (url: URL, shape: z.ZodRawShape): Record<string, string | string[]> => {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const name of new Set(url.searchParams.keys())) {
    const given = url.searchParams.getAll(name);
    const schema = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (given.length > 1 && schema && !isList(schema)) {
      throw new PerdureError('INVALID_INPUT', `the query: ${name} is given ${given.length} times, and counts once`);
    }
    query[name] = schema && isList(schema) ? given : given[0]!;
  }
  return { ...query };
};
