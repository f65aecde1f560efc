import { linkTo } from '../markdown.ts';
import { markdownPage, type Page } from './page.ts';
import { namedShapes, shapeLines } from './shapes.ts';

/** Must be the last page, because it documents the shapes that the others name. */
export const shapesPage: Page = {
  path: 'docs/reference/shapes.md',
  render: () =>
    markdownPage(
      'Shapes',
      'The named shapes that commands with `--json` and the HTTP API return, written as TypeScript. `ses_…` is an id of that kind, `Json` any JSON; times are milliseconds since 1970.',
      namedShapes()
        .map(([name]) => linkTo(name))
        .join(', '),
      ...namedShapes().map(([name, schema]) => [
        `## ${name}`,
        ...(schema.description ? ['', schema.description] : []),
        '',
        ...shapeLines(schema),
      ]),
    ),
};
