import { environment } from '../../src/cli/parse/environment.ts';
import { defaultStore } from '../../src/cli/parse/store-address.ts';
import { defaultSnapshotPolicy } from '../../src/core/engine/session-folds.ts';
import { defaultOutboundPolicy } from '../../src/core/host/outbound-policy.ts';
import { Options as WorkerOptions } from '../../src/core/runs/worker-options.ts';
import { Timings } from '../../src/core/runtime/scopes.ts';
import { defaultWebhookSettings } from '../../src/core/webhooks/post.ts';
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
      'The configuration of the commands: `perdure.config.ts`, `.mjs` or `.js` in the current folder, or the file that `--config` names. The file is a module whose default export is this object.',
    members: membersOf('src/cli/config/config.ts', 'Config', (name) => name !== 'file'),
    defaults: { store: defaultStore },
  },
  {
    title: 'openRuntime',
    about: 'From `perdure`. The options of `openRuntime`.',
    members: membersOf('src/runtime.ts', 'RuntimeOptions'),
  },
  {
    title: 'models',
    about:
      'The field `models` of `openRuntime` and of the configuration. Settings from the environment need not be repeated here.',
    members: membersOf('src/models/models-config.ts', 'ModelsConfig'),
    defaults: { contextTokens: defaultContextTokens, stallMs: defaultStallMs },
  },
  {
    title: 'models.providers',
    about: 'Settings of a provider, keyed by the part of a model name before the slash.',
    members: membersOf('src/models/models-config.ts', 'ProviderConfig'),
    defaults: { structuredOutput: true },
  },
  {
    title: 'models.models',
    about: 'Settings of a model, keyed by its full name, such as `ollama/qwen3`.',
    members: membersOf('src/models/models-config.ts', 'ModelConfig'),
  },
  {
    title: 'models.models.price',
    about: 'Prices in USD per million tokens.',
    members: membersOf('src/core/ports/model.ts', 'Price'),
  },
  {
    title: 'timing',
    about: 'The field `timing` of `openRuntime`.',
    members: membersOf('src/core/engine/scope.ts', 'Timing'),
    defaults: Timings.parse({}),
  },
  {
    title: 'snapshots',
    about: 'The field `snapshots` of `openRuntime`.',
    members: membersOf('src/core/engine/session-folds.ts', 'SnapshotPolicy'),
    defaults: { ...defaultSnapshotPolicy },
  },
  {
    title: 'outbound',
    about: 'The field `outbound` of `openRuntime`: which addresses a workspace may give.',
    members: membersOf('src/core/host/outbound-policy.ts', 'OutboundPolicy'),
    defaults: { ...defaultOutboundPolicy },
  },
  {
    title: 'webhooks',
    about: 'The field `webhooks` of `openRuntime`.',
    members: membersOf('src/core/webhooks/post.ts', 'WebhookSettings'),
    defaults: { ...defaultWebhookSettings },
  },
  {
    title: 'runtime.worker',
    about: 'The options of `runtime.worker`. `perdure worker` and `perdure serve` have options for the same.',
    members: membersOf('src/core/runs/worker-options.ts', 'WorkerOptions'),
    defaults: WorkerOptions.parse({}),
  },
  {
    title: 'openPostgresStore',
    about:
      'From `perdure/postgres`, for settings that an address cannot express. It returns a `store` for `openRuntime`.',
    members: membersOf('src/stores/postgres/index.ts', 'PostgresStoreOptions'),
    defaults: { ...postgresDefaults },
  },
  {
    title: 'serveHttp',
    about:
      'From `perdure/server`. The options of `serveHttp(runtime, options)`. `perdure serve` has options for the same.',
    members: [
      ...membersOf('src/servers/http/server.ts', 'ServeOptions'),
      ...membersOf('src/servers/http/listen.ts', 'ListenOptions', (name) => name === 'drainMs' || name === 'timeouts'),
      ...membersOf('src/servers/http/observer.ts', 'Readings'),
    ],
    defaults: { ...serveDefaults, drainMs: defaultDrainMs },
  },
  {
    title: 'timeouts',
    about: 'The field `timeouts` of `serveHttp`.',
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
      'Everything that can be set in a file, by a program or by the environment. An unknown setting is rejected by name.',
      `On this page: ${[...groups.map(({ title }) => title), 'Environment'].map((title) => linkTo(title, code(title))).join(', ')}.`,
      ...groups.map(optionsSection),
      '## Environment',
      'Every variable that Perdure reads. Options of a command or a program take precedence.',
      ...variables,
    ),
};
