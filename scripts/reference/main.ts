/** Rewrites docs/reference. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pages } from './pages.ts';

for (const { path, render } of pages) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, render());
}
console.log(`reference: ${pages.length} pages written`);
