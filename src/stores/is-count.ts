/**
 * Whether the value is a counter or timestamp that a release can have written. Both engines also store integers that
 * JavaScript cannot represent exactly; only a manual edit produces those.
 */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
