/** Freezes what is not frozen yet; what is, is taken to be so all the way down. */
export const deepFreeze = <T>(value: T): T => {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const each of Object.values(value)) deepFreeze(each);
  return value;
};
