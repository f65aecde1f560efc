import { z } from 'zod';
import { SessionId } from './ids.ts';
import { Point } from './point.ts';

export const Attempt = z.strictObject({ turn: z.int().positive(), attempt: z.int().positive() });

/** A point of this session, a point of another session with its id, or an attempt at a turn, counted from 1. */
export const Place = z.union(
  [
    Attempt,
    z.strictObject({ session: SessionId, seq: z.int().positive() }),
    z.strictObject({ session: SessionId, turn: z.int().nonnegative() }),
    z.strictObject({ session: SessionId }),
    Point,
  ],
  { error: 'expected {seq}, {turn}, {turn, attempt}, or one of these with {session} for another branch' },
);
export type Place = z.input<typeof Place>;

const point = /^(?:(turn|seq):)?(\d{1,15})$/;
const attempt = /^(?:turn:)?(\d{1,15})#(\d{1,15})$/;

/**
 * Parses a point: `turn:3` and `3` mean the end of turn 3, and `seq:17` means event 17. Returns undefined for any
 * other text.
 */
export const pointOfText = (text: string): Point | undefined => {
  const [, kind = 'turn', digits] = point.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return kind === 'seq' ? { seq: Number(digits) } : { turn: Number(digits) };
};

/** Parses an attempt: `turn:5#2` means the second attempt at turn 5. Returns undefined for any other text. */
export const attemptOfText = (text: string): z.infer<typeof Attempt> | undefined => {
  const [, turn, which] = attempt.exec(text) ?? [];
  return turn === undefined ? undefined : { turn: Number(turn), attempt: Number(which) };
};

const parsedBy = <S extends z.ZodType>(read: (text: string) => unknown, schema: S, form: string, example: string) =>
  z
    .string()
    .max(200)
    .transform((text, context): z.infer<S> => {
      const parsed = schema.safeParse(read(text));
      if (parsed.success) return parsed.data;
      context.issues.push({ code: 'custom', message: `expected ${form}`, input: text });
      return z.NEVER;
    })
    .meta({ type: 'string', examples: [example], description: form });

/** The schema of a point in the text form of query parameters. */
export const PointText = parsedBy(
  pointOfText,
  Point,
  'turn:3 (or just 3) for the end of a turn, seq:17 for an event',
  'turn:3',
);

const placeOfText = (text: string): unknown => {
  if (!text.startsWith('ses_')) return attemptOfText(text) ?? pointOfText(text);
  const [session, at, ...rest] = text.split('@');
  if (rest.length > 0) return undefined;
  return at === undefined ? { session } : { session, ...pointOfText(at) };
};

/** The schema of a place in the text form of query parameters. */
export const PlaceText = parsedBy(
  placeOfText,
  Place,
  'turn:3, seq:17, turn:5#2 for an attempt, ses_… for where another branch is, or ses_…@turn:3',
  'ses_01jd3v8m9k5x7q2w4e6r8t0y1a@turn:3',
);
