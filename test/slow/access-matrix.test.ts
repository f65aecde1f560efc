import { expect, test } from 'vitest';
import { memberRoles } from '../../src/schema/member-roles.ts';
import { checkAccessMatrix } from '../support/servers/access-matrix.ts';

test('[SEE3, SEE4, HTTP7] every route answers, refuses or hides each role by reach, owner and tenant as the table says', async () => {
  expect(await checkAccessMatrix(memberRoles)).toBeGreaterThan(7500);
}, 600_000);
