import { table } from '../markdown.ts';
import { markdownPage, type Page } from './page.ts';

const contents: Readonly<Record<string, string>> = {
  cli: 'every command: arguments, options, examples, what `--json` writes, exit codes',
  configuration: 'the configuration file, what programs pass, environment variables, defaults',
  definitions:
    'what `defineAgent`, `defineTool` and `defineScript` take, what a tool is given, and the options of the most used methods',
  errors: 'every error code: what happened, what to do, HTTP status, exit code; why a run failed',
  events: 'every type of event: who writes it, its fields, an example; the hash',
  library: 'every handle of the library: its methods, what they do, and the role that each takes',
  openapi:
    'the HTTP API by area: who may ask, parameters, bodies, answers; the same for programs: [openapi.json](openapi.json)',
  shapes: 'what commands and the API give by name',
};

export const indexPage: Page = {
  path: 'docs/reference/README.md',
  render: () =>
    markdownPage(
      'Reference',
      'Written from the code. What things are for is in [concepts](../concepts.md) and the guides, which [the documents](../README.md) list.',
      table(
        ['Page', 'What it has'],
        Object.entries(contents).map(([name, about]) => [`[${name}](${name}.md)`, about]),
      ),
    ),
};
