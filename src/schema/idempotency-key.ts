import { Text } from './json.ts';

export const IdempotencyKeyText = Text.min(1).max(255);
