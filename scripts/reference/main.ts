/** Rewrites docs/reference, and the generated parts of other pages. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { withPart } from './page.ts';
import { pageParts, pages } from './pages.ts';

for (const { path, render } of pages) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, render());
}
for (const part of pageParts) {
  const page = withPart(readFileSync(part.path, 'utf8'), part);
  if (page === undefined) throw new Error(`${part.path} has no place for ${part.name}`);
  writeFileSync(part.path, page);
}
console.log(`reference: ${pages.length} pages written`);
