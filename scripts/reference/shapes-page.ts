import { linkTo } from '../markdown.ts';
import { markdownPage, type Page } from './page.ts';
import { namedShapes, shapeLines } from './shapes.ts';

/** The last page: it tells what the others name. */
export const shapesPage: Page = {
  path: 'docs/reference/shapes.md',
  render: () =>
    markdownPage(
      'Shapes',
      'What commands with `--json` and the HTTP API give by name, as TypeScript would write it. `ses_…` is an id of that kind, `Json` any JSON; times are milliseconds since 1970.',
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
