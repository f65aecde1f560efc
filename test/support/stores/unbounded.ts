import type { z } from 'zod';

/** The paths of lists and records that a schema validates without first checking their size. */
export const unbounded = (schema: z.core.$ZodType, path: string, seen = new Set<unknown>()): readonly string[] => {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { def } = schema._zod as unknown as { def: Record<string, unknown> & { type: string } };
  const within = (each: unknown, at: string) => unbounded(each as z.core.$ZodType, at, seen);
  if (def.type === 'array' || def.type === 'record') return [path];
  if (def.type === 'pipe' && (def.in as z.core.$ZodType)._zod.def.type === 'transform') {
    const { def: list } = (def.out as z.core.$ZodType)._zod as unknown as { def: Record<string, unknown> };
    return within(list.element ?? list.valueType, `${path}[]`);
  }
  return Object.entries(def).flatMap(([name, value]) => {
    if (name === 'shape')
      return Object.entries(value as object).flatMap(([key, each]) => within(each, `${path}.${key}`));
    if (name === 'options') return (value as readonly unknown[]).flatMap((each) => within(each, path));
    return ['in', 'out', 'innerType'].includes(name) ? within(value, path) : [];
  });
};
