import { environment } from '../../src/cli/parse/environment.ts';
import { defaultStore } from '../../src/cli/parse/store-address.ts';
import { defaultSnapshotPolicy } from '../../src/core/engine/session-folds.ts';
import { Options as WorkerOptions } from '../../src/core/runs/worker-options.ts';
import { Timings } from '../../src/core/runtime/scopes.ts';
import { defaultPostRules } from '../../src/core/webhooks/post.ts';
import { defaultContextTokens, defaultStallMs } from '../../src/models/from-language-model.ts';
import { defaultDrainMs, defaultTimeouts } from '../../src/servers/http/listen.ts';
import { serveDefaults } from '../../src/servers/http/server.ts';
import { postgresDefaults } from '../../src/stores/postgres/server/postgres-defaults.ts';
import { code, linkTo, table } from '../markdown.ts';
import { type Group, membersOf, optionsSection } from './options.ts';
import { markdownPage, type Page } from './page.ts';

const groups: readonly Group[] = [
  {
    title: 'perdure.config.ts',
    about:
      'What the commands work with: `perdure.config.ts`, `.mjs` or `.js` in the current folder, or the file that `--config` names. It is a program that exports this as its default.',
    members: membersOf('src/cli/config/config.ts', 'Config', (name) => name !== 'file'),
    defaults: { store: defaultStore },
  },
  {
    title: 'openRuntime',
    about: 'From `perdure`. What a program passes to `openRuntime`.',
    members: membersOf('src/runtime.ts', 'RuntimeOptions'),
  },
  {
    title: 'models',
    about: 'Of `openRuntime` and of the configuration. What the environment says need not be said again.',
    members: membersOf('src/models/models-config.ts', 'ModelsConfig'),
    defaults: { contextTokens: defaultContextTokens, stallMs: defaultStallMs },
  },
  {
    title: 'models.providers',
    about: 'By the name before the slash.',
    members: membersOf('src/models/models-config.ts', 'ProviderConfig'),
    defaults: { structuredOutput: true },
  },
  {
    title: 'models.models',
    about: 'By the whole name, such as `ollama/qwen3`.',
    members: membersOf('src/models/models-config.ts', 'ModelConfig'),
  },
  {
    title: 'models.models.price',
    about: 'In USD per million tokens.',
    members: membersOf('src/core/ports/model.ts', 'Price'),
  },
  {
    title: 'timing',
    about: 'Of `openRuntime`.',
    members: membersOf('src/core/engine/scope.ts', 'Timing'),
    defaults: Timings.parse({}),
  },
  {
    title: 'snapshots',
    about: 'Of `openRuntime`.',
    members: membersOf('src/core/engine/session-folds.ts', 'SnapshotPolicy'),
    defaults: { ...defaultSnapshotPolicy },
  },
  {
    title: 'webhooks',
    about: 'Of `openRuntime`.',
    members: membersOf('src/core/webhooks/post.ts', 'PostRules'),
    defaults: { ...defaultPostRules },
  },
  {
    title: 'runtime.worker',
    about: 'What a program passes to `runtime.worker`; `perdure worker` and `perdure serve` have options for the same.',
    members: membersOf('src/core/runs/worker-options.ts', 'WorkerOptions'),
    defaults: WorkerOptions.parse({}),
  },
  {
    title: 'openPostgresStore',
    about: 'From `perdure/postgres`, for more than an address says. What it gives is a `store` of `openRuntime`.',
    members: membersOf('src/stores/postgres/index.ts', 'PostgresStoreOptions'),
    defaults: { ...postgresDefaults },
  },
  {
    title: 'serveHttp',
    about:
      'From `perdure/server`. What a program passes to `serveHttp(runtime, options)`; `perdure serve` has options for the same.',
    members: [
      ...membersOf('src/servers/http/server.ts', 'ServeOptions'),
      ...membersOf('src/servers/http/listen.ts', 'ListenOptions', (name) => name === 'drainMs' || name === 'timeouts'),
      ...membersOf('src/servers/http/observer.ts', 'Readings'),
    ],
    defaults: { ...serveDefaults, drainMs: defaultDrainMs },
  },
  {
    title: 'timeouts',
    about: 'Of `serveHttp`.',
    members: membersOf('src/servers/http/listen.ts', 'Timeouts'),
    defaults: { ...defaultTimeouts },
  },
];

const variables = Object.entries(environment).flatMap(([title, names]) => [
  `### ${title}`,
  table(
    ['Variable', 'What it does'],
    Object.entries(names).map(([name, about]) => [code(name), about]),
  ),
]);

export const configurationPage: Page = {
  path: 'docs/reference/configuration.md',
  render: () =>
    markdownPage(
      'Configuration',
      'Everything that can be set in a file, by a program or by the environment. An unknown setting is rejected by name; nothing is guessed.',
      `On this page: ${[...groups.map(({ title }) => title), 'Environment'].map((title) => linkTo(title, code(title))).join(', ')}.`,
      ...groups.map(optionsSection),
      '## Environment',
      'Every variable that Perdure reads. Options of a call, and of a program, count first.',
      ...variables,
    ),
};
