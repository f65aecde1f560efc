import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { Json } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { segmentsOfPointer } from '../../schema/pointer.ts';
import { Pointer, type ShownState } from '../../schema/state.ts';
import { findPoint } from '../engine/points.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { shownState } from '../session/waiting.ts';

const Options = z.strictObject({ at: Point.optional(), path: Pointer.min(1).optional() });
export type StateOptions = Omit<z.input<typeof Options>, 'path'>;

/** Own properties only, so that a path never leads to what JavaScript adds to an object or a list. */
const inside = (value: unknown, segment: string): unknown =>
  value !== null && typeof value === 'object' && Object.hasOwn(value, segment) && !isLength(value, segment)
    ? (value as Record<string, unknown>)[segment]
    : undefined;

const isLength = (value: object, segment: string): boolean => Array.isArray(value) && segment === 'length';

const partAt = (state: ShownState, path: string): Json => {
  const value = segmentsOfPointer(path).reduce<unknown>(inside, state);
  if (value !== undefined) return value as Json;
  throw new PerdureError('POINT_NOT_FOUND', `the state has nothing at ${path}: leave out the path to see all of it`, {
    details: { path },
  });
};

/** Returns the state now or at a point, with what the session waits for there, or the part of it at a path. */
export const readState = async (
  scope: LogAccess,
  key: SessionKey,
  options: z.input<typeof Options> = {},
): Promise<ShownState | Json> => {
  const { at, path = '' } = parseInput('the query', Options, options);
  const state = shownState(await scope.folds.at(key, await findPoint(scope, key, at)));
  return path === '' ? state : partAt(state, path);
};
