/** `: did you mean models.providers?` where the field belongs there. */
export const deeperText = (field: string, deeper: Readonly<Record<string, object>>): string => {
  const place = Object.keys(deeper).find((each) => Object.hasOwn(deeper[each]!, field));
  return place === undefined ? '' : `: did you mean ${place}.${field}?`;
};

/** What is wrong with the fields of an object, told without the schemas, for what a program does before it needs them. */
export const fieldProblem = <Options extends object>(
  given: unknown,
  known: Readonly<Record<keyof Options, true>>,
  /** Fields that belong deeper, by where. */
  deeper: Readonly<Record<string, object>> = {},
): string | undefined => {
  if (typeof given !== 'object' || given === null) return 'expected an object';
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  return unknown === undefined
    ? undefined
    : `"${unknown}" is not one of ${Object.keys(known).join(', ')}${deeperText(unknown, deeper)}`;
};
