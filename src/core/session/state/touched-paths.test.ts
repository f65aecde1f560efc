import { expect, test } from 'vitest';
import { touchedPaths } from './touched-paths.ts';

test('[QRY1] a path that a delta names twice is touched once', () => {
  const add = { op: 'add', path: '/facts/list/0', value: 1 } as const;
  expect(touchedPaths({ delta: [add, add], provenance: 'human' })).toEqual([
    { path: '/facts/list/0', provenance: 'human' },
  ]);
});
