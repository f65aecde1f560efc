import { z } from 'zod';
import { bounded } from './bounded.ts';
import { jsonProblem, textProblem } from './json-problem.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const copyJson = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) copy[key] = copyJson((value as Readonly<Record<string, unknown>>)[key]);
  return copy;
};

/** Parsing copies the value, so that later changes to the caller's objects have no effect. */
export const Json = z
  .unknown()
  .superRefine((value, context) => {
    const problem = jsonProblem(value);
    if (!problem) return;
    // `continue: false` skips later checks, because `JSON.stringify` can throw on a value that is not JSON.
    context.addIssue({ code: 'custom', path: [...problem.path], message: problem.message, continue: false });
  })
  .overwrite(copyJson) as unknown as z.ZodType<Json>;

export const Text = z.string().superRefine((text, context) => {
  const message = textProblem(text);
  if (message) context.addIssue({ code: 'custom', message });
});

/** The maximum size of metadata. It is limited because metadata is part of the summary, which every append writes. */
const maxMetadataChars = 16 * 1024;

/** A record of JSON values. Rejects the key `__proto__`, because `z.record` would silently drop it. */
export const Metadata = z
  .unknown()
  .superRefine((value, context) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '__proto__')) return;
    context.addIssue({ code: 'custom', path: ['__proto__'], message: 'cannot be a key: choose another name' });
  })
  .pipe(bounded(z.record(Text.max(200), Json)))
  .refine((metadata) => JSON.stringify(metadata).length <= maxMetadataChars, {
    error: `is longer than ${maxMetadataChars} characters of JSON: put large content into messages or facts`,
  });
export type Metadata = z.infer<typeof Metadata>;
