import { z } from 'zod';
import { SessionId } from './ids.ts';
import { Point } from './point.ts';

const ofSession = { session: SessionId };
const [AtSeq, AtTurn, AtAttempt] = Point.options;

/** A point of this session, or another session with its id, now or at one of its points. */
export const Place = z.union(
  [Point, z.strictObject(ofSession), AtSeq.extend(ofSession), AtTurn.extend(ofSession), AtAttempt.extend(ofSession)],
  { error: 'expected {seq}, {turn} or {turn, attempt}, with {session} or {session} alone for another branch' },
);
export type Place = z.input<typeof Place>;

/** The number of branches that can be compared at once. */
export const maxCompared = 8;

const form = /^(?:(turn|seq):)?(\d{1,15})(?:#(\d{1,15}))?$/;

/**
 * Parses a point: `turn:3` and `3` mean the end of turn 3, `seq:17` means event 17, and `turn:5#2` the second attempt
 * at turn 5. Returns undefined for any other text.
 */
export const pointOfText = (text: string): Point | undefined => {
  const [, kind = 'turn', digits, attempt] = form.exec(text) ?? [];
  if (digits === undefined || (kind === 'seq' && attempt !== undefined)) return undefined;
  if (kind === 'seq') return { seq: Number(digits) };
  return { turn: Number(digits), ...(attempt !== undefined && { attempt: Number(attempt) }) };
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
  'turn:3 (or just 3) for the end of a turn, seq:17 for an event, turn:5#2 for an attempt at a turn',
  'turn:3',
);

const placeOfText = (text: string): unknown => {
  if (!text.startsWith('ses_')) return pointOfText(text);
  const [session, at, ...rest] = text.split('@');
  if (rest.length > 0) return undefined;
  const point = at === undefined ? {} : pointOfText(at);
  return point && { session, ...point };
};

/** The schema of a place in the text form of query parameters. */
export const PlaceText = parsedBy(
  placeOfText,
  Place,
  'turn:3, seq:17, turn:5#2 for an attempt, ses_… for where another branch is, or ses_…@ and one of these',
  'ses_01jd3v8m9k5x7q2w4e6r8t0y1a@turn:3',
);
