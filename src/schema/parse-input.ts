import type { z } from 'zod';
import { PerdureError } from './error.ts';

type Issue = z.core.$ZodIssue;

const isTypeMismatch = (issues: readonly Issue[]): boolean =>
  issues.some(({ path, code }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'));

/** Guesses the intended alternative: the one with the fewest issues, among those whose type matches. */
const nearest = (alternatives: readonly (readonly Issue[])[]): readonly Issue[] => {
  const sameType = alternatives.filter((issues) => !isTypeMismatch(issues));
  return (sameType.length > 0 ? sameType : alternatives).reduce((best, each) =>
    each.length < best.length ? each : best,
  );
};

/** The default message of zod for a union without a message of its own. */
const defaultUnionMessage = 'Invalid input';

/** Replaces a union's issue by the issues of its nearest alternative, with their paths from the root. */
const withinUnions = (issue: Issue): readonly Issue[] => {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0 || issue.message !== defaultUnionMessage) {
    return [issue];
  }
  return nearest(issue.errors).flatMap((each) => withinUnions({ ...each, path: [...issue.path, ...each.path] }));
};

/**
 * The maximum length of an issue's text. It is limited because an issue can quote field names that are as long as the
 * whole input.
 */
const maxChars = 300;
export const clipped = (text: string): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;

/** Builds the error for invalid input. Its message lists the first five issues in one line. */
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
