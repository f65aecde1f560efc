import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clipPath, pathRange } from './path-range.ts';

/** Compares text as both engines do. */
const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const text = fc.string({
  unit: fc.constantFrom('a', 'b', '/', '\u007f', '\ud7ff', '\ue000', '\uffff', '\u{1f600}', '\u{10ffff}'),
});

describe('path ranges', () => {
  test('[QRY1] a range contains exactly the paths that begin with the prefix', () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (prefix, other, begins) => {
        const path = begins ? prefix + other : other;
        const { from, below } = pathRange(prefix);
        const isWithin =
          (from === undefined || compare(path, from) >= 0) && (below === undefined || compare(path, below) < 0);
        expect(isWithin).toBe(path.startsWith(prefix));
      }),
    );
  });

  test('[QRY1] a long path is cut at a character boundary, and a prefix of any length finds it', () => {
    const path = `${'a'.repeat(799)}\u{1f600}b`;
    expect(clipPath(path)).toBe('a'.repeat(799));
    expect(clipPath('a'.repeat(800))).toBe('a'.repeat(800));
    expect(pathRange(path).from).toBe(clipPath(path));
    expect(Buffer.byteLength(clipPath('\uffff'.repeat(2_000)))).toBeLessThanOrEqual(2_400);
  });
});
