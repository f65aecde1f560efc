import { count } from './count.ts';

/** Suffix for the answer of a rewind or retry; empty when no input was waiting. */
export const cancelledInputs = ({ length }: readonly unknown[]): string =>
  length > 0 ? `; cancelled: ${count(length, 'waiting input')}` : '';
