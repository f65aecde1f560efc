/**
 * Whether the value is a valid counter or timestamp. Both engines store larger integers than JavaScript represents
 * exactly, so any other value was edited by hand.
 */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
