import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId, type SessionId } from '../../schema/ids.ts';
import { clipSegments, type LineageLink, lineageOf, type Segment, segmentsOf } from './lineage.ts';

const [child, middle, root] = [newId('ses'), newId('ses'), newId('ses')];

/** The session that owns each seq from 1 on, according to the segments. */
const ownersOf = (segments: readonly Segment[], head: number): readonly (SessionId | undefined)[] =>
  Array.from({ length: head }, (_, i) => segments.find(({ from, to }) => from <= i + 1 && i + 1 <= to)?.session);

describe('lineage', () => {
  const originsOf =
    (...origins: readonly (readonly [SessionId, SessionId | null, number | null])[]) =>
    (id: SessionId) =>
      origins
        .map(([session, parent, forkedAt]) => ({ session, parent, forkedAt }))
        .find(({ session }) => session === id);

  test('[FORK1] a lineage leads from a session to its root, or to the last session that has a row', () => {
    const known = originsOf([child, middle, 7], [middle, root, 4], [root, null, null]);
    expect(lineageOf(child, known)).toEqual([
      { session: child, forkedAt: 7 },
      { session: middle, forkedAt: 4 },
      { session: root, forkedAt: 0 },
    ]);
    expect(lineageOf(child, originsOf([child, middle, 7]))).toEqual([{ session: child, forkedAt: 7 }]);
    expect(lineageOf(child, originsOf())).toBeUndefined();
  });

  test.each([
    ['its own parent', originsOf([child, child, 1])],
    ['its own ancestor', originsOf([child, middle, 7], [middle, root, 4], [root, middle, 2])],
    ['forked at a negative seq', originsOf([child, middle, -1], [middle, null, null])],
    ['forked at an unsafe integer', originsOf([child, middle, 2 ** 53], [middle, null, null])],
  ])(
    '[FAULT1, FAULT2] the lineage of a session that is %s fails with STORE_CORRUPT and names the session',
    (_, known) => {
      const damage = expect.objectContaining({ code: 'STORE_CORRUPT', details: { session: child } });
      expect(() => lineageOf(child, known)).toThrow(damage);
    },
  );

  test('[FORK1] the lineage of a root is one segment', () => {
    expect(segmentsOf([{ session: root, forkedAt: 0 }], 5)).toEqual([{ session: root, from: 1, to: 5 }]);
  });

  test("[FORK1] each ancestor contributes the events between its own fork point and its child's, newest first", () => {
    const lineage = [
      { session: child, forkedAt: 7 },
      { session: middle, forkedAt: 4 },
      { session: root, forkedAt: 0 },
    ];
    expect(segmentsOf(lineage, 9)).toEqual([
      { session: child, from: 8, to: 9 },
      { session: middle, from: 5, to: 7 },
      { session: root, from: 1, to: 4 },
    ]);
  });

  test('[FORK1] a fork at an inherited event skips the session in between', () => {
    for (const forkedAt of [4, 3]) {
      const lineage = [
        { session: child, forkedAt },
        { session: middle, forkedAt: 4 },
        { session: root, forkedAt: 0 },
      ];
      expect(segmentsOf(lineage, 6)).toEqual([
        { session: child, from: forkedAt + 1, to: 6 },
        { session: root, from: 1, to: forkedAt },
      ]);
    }
  });

  test('[FORK1] for any lineage, the segments assign each seq to exactly one session, its owner', () => {
    const lineages = fc.array(fc.nat(), { minLength: 1, maxLength: 12 }).map((points) => {
      // Starts at the root. Each session forks from a point of the previous one and then grows by one to three
      // events.
      let owners: SessionId[] = [];
      const lineage: LineageLink[] = [];
      for (const [depth, point] of points.entries()) {
        const forkedAt = depth === 0 ? 0 : (point % owners.length) + 1;
        const session = newId('ses');
        owners = [...owners.slice(0, forkedAt), ...Array<SessionId>(1 + (point % 3)).fill(session)];
        lineage.unshift({ session, forkedAt });
      }
      return { lineage, owners };
    });
    fc.assert(
      fc.property(lineages, fc.nat(30), fc.nat(30), ({ lineage, owners }, after, upTo) => {
        const segments = segmentsOf(lineage, owners.length);
        expect(ownersOf(segments, owners.length)).toEqual(owners);
        expect(segments.reduce((sum, { from, to }) => sum + to - from + 1, 0)).toBe(owners.length);
        const clipped = clipSegments(segments, after, upTo);
        expect(ownersOf(clipped, owners.length)).toEqual(
          owners.map((owner, i) => (after < i + 1 && i + 1 <= upTo ? owner : undefined)),
        );
        for (const { from, to } of clipped) expect(from).toBeLessThanOrEqual(to);
      }),
    );
  });
});
