import { z } from 'zod';

/**
 * A point in a session: just after an event, at the end of a turn on the live lineage, or at the end of an attempt at a
 * turn, counted from 1.
 */
export const Point = z.union(
  [
    z.strictObject({ seq: z.int().positive() }),
    z.strictObject({ turn: z.int().nonnegative() }),
    z.strictObject({ turn: z.int().positive(), attempt: z.int().positive() }),
  ],
  { error: 'expected {seq} from 1, {turn} from 0, or {turn, attempt} from 1' },
);
export type Point = z.infer<typeof Point>;

/** An attempt at a turn, named by the turn of the first attempt. */
export type Attempt = Extract<Point, { attempt: number }>;
