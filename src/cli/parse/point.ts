import { pointOfText } from '../../schema/place.ts';
import type { Point } from '../../schema/point.ts';
import { wrongCall } from './wrong-call.ts';

/**
 * Parses a point: `turn:3` and `3` mean the end of turn 3, `seq:17` means event 17, and `turn:5#2` the second attempt
 * at turn 5. Returns undefined for any other text.
 */
export const pointNamed = (text: string): Point | undefined => {
  const point = pointOfText(text);
  if (point && 'seq' in point && point.seq === 0) {
    throw wrongCall(
      `"${text}" is not an event, since they count from 1: name seq:1, or turn:0 for the point before the first turn`,
    );
  }
  if (point && 'attempt' in point && (point.turn === 0 || point.attempt === 0)) {
    throw wrongCall(`"${text}" is not an attempt at a turn: turns and attempts count from 1`);
  }
  return point;
};

export const parsePoint = (text: string): Point => {
  const point = pointNamed(text);
  if (point) return point;
  throw wrongCall(
    `"${text}" is not a point: write turn:3 (or just 3) for the end of a turn, seq:17 for an event, turn:5#2 for an attempt at a turn`,
  );
};

export const pointName = (point: Point): string => {
  if ('seq' in point) return `event ${point.seq}`;
  return 'attempt' in point ? `attempt ${point.attempt} at turn ${point.turn}` : `turn ${point.turn}`;
};

export const optionalPoint = (text: string | undefined): Point | undefined =>
  text === undefined ? undefined : parsePoint(text);

export const parseCount = (
  option: string,
  text: string | undefined,
  least: number,
  most = Number.POSITIVE_INFINITY,
): number | undefined => {
  if (text === undefined) return undefined;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  const range = most === Number.POSITIVE_INFINITY ? `, ${least} or more` : ` from ${least} to ${most}`;
  throw wrongCall(`${option} is a whole number${range}; got "${text}"`);
};
