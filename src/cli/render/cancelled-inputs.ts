import { count } from './count.ts';

/** What going back says at its end; nothing where no input waited. */
export const cancelledInputs = ({ length }: readonly unknown[]): string =>
  length > 0 ? `; cancelled: ${count(length, 'input')} that waited` : '';
