import { expect, test } from 'vitest';
import { checkAccessMatrix } from '../../../test/support/servers/access-matrix.ts';

test('[SEE3, SEE4, HTTP7] every route answers, refuses or hides by role, reach, owner and tenant as the table says', async () => {
  expect(await checkAccessMatrix(['member'])).toBeGreaterThan(1900);
}, 120_000);
