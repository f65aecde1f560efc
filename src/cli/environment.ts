import { defaultStore } from './store-address.ts';

type Variables = Readonly<Record<string, string>>;

/** Every environment variable that Perdure reads, by what it is for. `npm run check:docs` fails on one that is not here. */
export const environment: Readonly<Record<string, Variables>> = {
  'The command': {
    PERDURE_STORE: `The store that commands work on, where \`--store\` does not say; else that of the configuration, else \`${defaultStore}\`.`,
    PERDURE_SERVER: 'A server to ask in place of a store, where neither `--server` nor `--store` says.',
    PERDURE_KEY:
      'The API key for that server, where `--key-file` names no file; else, for a server of this machine, `.perdure/api-key` here.',
    PERDURE_WORKSPACE:
      'The workspace of a store, where `--workspace` does not say; else `local`. With a server it is refused, as `--workspace` and `--config` are: there the key belongs to one workspace.',
    PERDURE_DEBUG: '`1` shows where a defect happened.',
    SHELL: 'The shell that `perdure completion` is for, where none is named.',
    NO_COLOR: 'Set to anything: no colours. Pipes get none anyhow.',
    FORCE_COLOR: 'Colours, also in a pipe, but for NO_COLOR.',
  },
  'The runtime': {
    PERDURE_DATA:
      'The folder of this machine for worktrees and the master key, where neither the program nor the configuration says; else beside the SQLite file, else `.perdure`.',
    PERDURE_POOL_SIZE:
      'How many connections to PostgreSQL a process has at most, beside the one that listens: 1 to 1000, 8 without it.',
    PERDURE_LISTEN_URL:
      'A direct address of PostgreSQL for LISTEN, where that of the store leads to a pooler that shares connections.',
    PERDURE_MASTER_KEY: 'Base64 of the 32 bytes by which vaults are sealed.',
    PERDURE_MASTER_KEY_FILE: 'A file with that key, for its user alone to read; else `master.key` in the data folder.',
    PERDURE_WEBHOOKS_ALLOW_PRIVATE: '`1` lets webhooks go to private addresses and without TLS.',
    TMPDIR:
      'Where bundles that are on their way and the records of shell commands are kept; else what the system says.',
    PATH: 'Where `git`, `rg`, `bwrap` and shells are looked for.',
  },
  Models: {
    PERDURE_MODEL:
      'The model of the agent `demo`, such as `anthropic/NAME`; else a usual one of the first provider below whose key is set, else a script.',
    ANTHROPIC_API_KEY: 'The key for models `anthropic/…`.',
    ANTHROPIC_BASE_URL: 'Another address for them than that of Anthropic.',
    OPENAI_API_KEY: 'The key for models `openai/…`.',
    OPENAI_BASE_URL: 'Another address for them than that of OpenAI.',
    PERDURE_PROVIDER_NAME_API_KEY:
      'The key for models `name/…` of any other provider: NAME in capitals, all but letters and digits as `_`.',
    PERDURE_PROVIDER_NAME_BASE_URL: 'Its address, which speaks as OpenAI Chat Completions do.',
  },
  'Spans, of `perdure serve` and `perdure worker`': {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'Where spans are sent, as OTLP over HTTP; `/v1/traces` is added. Without it none are.',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'The same, as it is.',
    OTEL_SERVICE_NAME: 'The name of the service that spans tell; else `perdure`.',
  },
  'Tests of a store of your own': {
    PERDURE_PROPERTY_RUNS: 'How often `describeStoreContract` tries each random property.',
  },
};
