import { wrongCall } from './wrong-call.ts';

export const parseOneOf = <Name extends string>(
  option: string,
  names: readonly Name[],
  given: string | undefined,
): Name | undefined => {
  if (given === undefined) return undefined;
  const found = names.find((name) => name === given);
  if (found) return found;
  throw wrongCall(`${option} is ${names.join(', ')}; got "${given}"`);
};
