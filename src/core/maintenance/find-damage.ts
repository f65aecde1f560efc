import { readForward } from '../engine/read-log.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import { badEventOf, filesProblem, type VerifyOptions, Walk } from './verify.ts';
import { type BadEvent, foldProblem } from './verify-folds.ts';

/** Returns the earlier of two bad events. A file problem may concern an event before a commit that cannot be applied. */
const earlier = (a: BadEvent | undefined, b: BadEvent | undefined): BadEvent | undefined =>
  a && b ? (b.seq < a.seq ? b : a) : (a ?? b);

/**
 * Returns the first event of a log that is not as it was written, that cannot be applied, or that names lost files.
 * Unlike `verify`, it ignores the data beside the log, which a rebuild restores.
 */
export const findDamage = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  head: Head,
  options: VerifyOptions = {},
): Promise<BadEvent | undefined> => {
  const walk = new Walk();
  let end = 0;
  const walked = async (): Promise<BadEvent | undefined> => {
    for await (const event of readForward(scope.store, key, { after: 0, upTo: head.seq })) {
      const reason = walk.linkProblem(event);
      if (reason) return { seq: event.seq, reason };
      walk.add(key, event);
      end = event.seq;
    }
    const reason = walk.endProblem(head);
    return reason === undefined ? undefined : { seq: head.seq, reason };
  };
  const broken = await walked().catch(badEventOf);
  const unapplied =
    end > 0 ? await foldProblem(scope.store, key, { upTo: end, points: walk.points, onlyLog: true }) : undefined;
  return earlier(earlier(broken, unapplied), await filesProblem(scope, walk, options));
};
