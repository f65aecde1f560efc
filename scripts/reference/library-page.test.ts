import { expect, test } from 'vitest';
import type { Permission } from '../../src/core/access/guard.ts';
import { permissions } from '../../src/core/runtime/permissions.ts';
import { libraryPage } from './library-page.ts';

test('[DOC3] every verb of every handle is on the library page, with its minimum role', () => {
  const rows = libraryPage.render().split('\n');
  for (const [handle, verbs] of Object.entries(permissions)) {
    for (const [verb, { role, whom }] of Object.entries<Permission>(verbs)) {
      const said = whom ? `${whom}; at least ${role}` : role;
      const found = rows.filter((row) => new RegExp(`^\\| \`${verb}[(<].* \\| ${said} \\|$`).test(row));
      expect(found, `${handle}.${verb}`).not.toEqual([]);
    }
  }
});
