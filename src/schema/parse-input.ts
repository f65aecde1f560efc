import type { z } from 'zod';
import { PerdureError } from './error.ts';

type Issue = z.core.$ZodIssue;

const isOfAnotherKind = (issues: readonly Issue[]): boolean =>
  issues.some(({ path, code }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'));

/** What was probably meant: of the alternatives that take such a value at all, the one with the least to mend. */
const nearest = (alternatives: readonly (readonly Issue[])[]): readonly Issue[] => {
  const ofKind = alternatives.filter((issues) => !isOfAnotherKind(issues));
  return (ofKind.length > 0 ? ofKind : alternatives).reduce((best, each) => (each.length < best.length ? each : best));
};

/** What a schema says of a union that has no words of its own. */
const wordless = 'Invalid input';

/** Down to what is wrong in a union, by its path from the root. */
const withinUnions = (issue: Issue): readonly Issue[] => {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0 || issue.message !== wordless) return [issue];
  return nearest(issue.errors).flatMap((each) => withinUnions({ ...each, path: [...issue.path, ...each.path] }));
};

/** A name or a list of names of what was sent may be as long as all of it. */
const maxChars = 300;
export const clipped = (text: string): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;

/** Where and what, in one line, for the person who sent it. */
export const invalidInput = (subject: string, error: z.ZodError): PerdureError => {
  const issues = error.issues
    .flatMap(withinUnions)
    .map(({ path, message }) => ({ path: clipped(path.join('.')), message: clipped(message) }));
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
