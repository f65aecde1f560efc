/** Returns a hint such as `: did you mean models.providers?`, or an empty text if the field belongs nowhere else. */
export const deeperText = (field: string, deeper: Readonly<Record<string, object>>): string => {
  const place = Object.keys(deeper).find((each) => Object.hasOwn(deeper[each]!, field));
  return place === undefined ? '' : `: did you mean ${place}.${field}?`;
};

/** Describes the first unknown field, without zod, so that a program need not load the schemas at startup. */
export const fieldProblem = <Options extends object>(
  given: unknown,
  known: Readonly<Record<keyof Options, true>>,
  /** The nested objects in which a misplaced field might belong, by their path. */
  deeper: Readonly<Record<string, object>> = {},
): string | undefined => {
  if (typeof given !== 'object' || given === null) return 'expected an object';
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  return unknown === undefined
    ? undefined
    : `"${unknown}" is not one of ${Object.keys(known).join(', ')}${deeperText(unknown, deeper)}`;
};
