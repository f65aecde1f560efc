import type { z } from 'zod';
import { PerdureError } from './error.ts';

/** Where and what, in one line, for the person who sent it. */
export const invalidInput = (subject: string, error: z.ZodError): PerdureError => {
  const issues = error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const lines = issues.slice(0, 5).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  return new PerdureError(
    'INVALID_INPUT',
    `${subject} ${subject.endsWith('s') ? 'are' : 'is'} not valid: ${lines.join('; ')}`,
    {
      details: { issues: issues.slice(0, 50) },
    },
  );
};

export const parseInput = <S extends z.ZodType>(subject: string, schema: S, input: unknown): z.infer<S> => {
  const parsed = schema.safeParse(input);
  if (!parsed.success) throw invalidInput(subject, parsed.error);
  return parsed.data;
};
