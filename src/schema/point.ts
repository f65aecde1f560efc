import { z } from 'zod';

/** A point in a session: just after an event, or at the end of a turn on the live lineage. */
export const Point = z.union(
  [z.strictObject({ seq: z.int().positive() }), z.strictObject({ turn: z.int().nonnegative() })],
  { error: 'expected {seq} from 1 or {turn} from 0' },
);
export type Point = z.infer<typeof Point>;
