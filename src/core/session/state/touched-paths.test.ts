import { expect, test } from 'vitest';
import { touchedPaths } from './touched-paths.ts';

test('[QRY1] a path that occurs twice in a delta is listed once', () => {
  const add = { op: 'add', path: '/facts/list/0', value: 1 } as const;
  expect(touchedPaths({ delta: [add, add], provenance: 'human' })).toEqual([
    { path: '/facts/list/0', provenance: 'human' },
  ]);
});
