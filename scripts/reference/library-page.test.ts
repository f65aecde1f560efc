import { expect, test } from 'vitest';
import { permissions } from '../../src/core/service/permissions.ts';
import { libraryPage } from './library-page.ts';

test('[DOC3] every verb of every handle is on the page of the library, with its least role', () => {
  const rows = libraryPage.render().split('\n');
  for (const [handle, verbs] of Object.entries(permissions)) {
    for (const [verb, { role }] of Object.entries(verbs)) {
      const found = rows.filter((row) => new RegExp(`^\\| \`${verb}[(<].* \\| ${role} \\|$`).test(row));
      expect(found, `${handle}.${verb}`).not.toEqual([]);
    }
  }
});
