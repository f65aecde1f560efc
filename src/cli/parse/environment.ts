import { defaultStore } from './store-address.ts';

type Variables = Readonly<Record<string, string>>;

/** Every environment variable that Perdure reads, by topic. `npm run check:docs` fails when one is missing here. */
export const environment: Readonly<Record<string, Variables>> = {
  'The command': {
    PERDURE_STORE: `The store that commands work on, unless \`--store\` names one. Default: the one in the configuration, else \`${defaultStore}\`.`,
    PERDURE_SERVER: 'A server to use instead of a store, unless `--server` or `--store` is given.',
    PERDURE_KEY:
      'The API key for that server, unless `--key-file` names a file. Default, for a server on this machine: `.perdure/api-key` in this folder.',
    PERDURE_WORKSPACE:
      'The workspace of a store, unless `--workspace` names one. Default: `local`. It is refused with a server, as `--workspace` and `--config` are: there the key belongs to one workspace.',
    PERDURE_DEBUG: '`1` shows where a defect happened.',
    PERDURE_SUPERVISED: 'Set by `perdure serve` for its worker processes. Do not set it.',
    SHELL: 'The shell that `perdure completion` writes for, unless one is named.',
    NO_COLOR: 'Set it to anything to turn colours off. Pipes never get any.',
    FORCE_COLOR: 'Turns colours on, even in a pipe, unless NO_COLOR is set.',
  },
  'The runtime': {
    PERDURE_DATA:
      'The folder on this machine for worktrees and the master key, unless the program or the configuration names one. Default: the folder of the SQLite file, else `.perdure`.',
    PERDURE_POOL_SIZE:
      'The most connections to PostgreSQL that a process opens, besides the one that listens: 1 to 1000, default 8.',
    PERDURE_LISTEN_URL:
      'A direct address of PostgreSQL for LISTEN, if the address of the store leads to a pooler that shares connections.',
    PERDURE_MASTER_KEY: 'The 32-byte key that seals vaults, in base64.',
    PERDURE_MASTER_KEY_FILE:
      'A file with that key, readable only by its user. Default: `master.key` in the data folder.',
    PERDURE_ALLOW_ROOT: "`1` lets a worker of root run commands of agents whose shell has `sandbox: 'off'`.",
    PERDURE_OUTBOUND_ALLOW_PRIVATE:
      '`1` lets addresses that a workspace gives, such as those of webhooks, be private and without TLS.',
    TMPDIR: 'Where bundles in transit and the records of shell commands are kept. Default: that of the system.',
    PATH: 'Where to look for `git`, `rg`, `bwrap` and shells.',
  },
  Models: {
    PERDURE_MODEL:
      'The model of the agent `demo`, such as `anthropic/NAME`. Default: a common model of the first provider below whose key is set, else a script.',
    ANTHROPIC_API_KEY: 'The key for models `anthropic/…`.',
    ANTHROPIC_BASE_URL: "An address to use for them instead of Anthropic's.",
    OPENAI_API_KEY: 'The key for models `openai/…`.',
    OPENAI_BASE_URL: "An address to use for them instead of OpenAI's.",
    PERDURE_PROVIDER_NAME_API_KEY:
      'The key for models `name/…` of any other provider: NAME in capitals, with `_` for anything but letters and digits.',
    PERDURE_PROVIDER_NAME_BASE_URL: 'Its address, which must speak OpenAI Chat Completions.',
  },
  'Spans, of `perdure serve` and `perdure worker`': {
    OTEL_EXPORTER_OTLP_ENDPOINT:
      'Where to send spans, as OTLP over HTTP; `/v1/traces` is added. If it is not set, none are sent.',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'The same, with nothing added.',
    OTEL_SERVICE_NAME: 'The service name in spans. Default: `perdure`.',
  },
  'Tests of a store of your own': {
    PERDURE_PROPERTY_RUNS: 'How often `describeStoreContract` tries each random property.',
  },
};
