import { stripVTControlCharacters } from 'node:util';
import { runCli } from '../../../src/cli/dispatch/run-cli.ts';
import type { World } from '../../../src/cli/parse/world.ts';
import type { Terminal } from '../../../src/cli/terminal/terminal.ts';
import { openRuntime } from '../../../src/index.ts';
import type { MemoryDatabase } from '../../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../../src/testing/memory-store.ts';
import { checkJson } from './check-json.ts';

/** Records what is written to a terminal of `columns` columns, or to a pipe if `columns` is infinite. */
export const recorder = (columns = 80): Terminal & { bytes: () => Buffer } => {
  const written: Buffer[] = [];
  const isTerminal = Number.isFinite(columns);
  return {
    isTerminal,
    columns,
    write: async (output) => void written.push(Buffer.from(output)),
    style: (_, text) => (isTerminal ? `\u001b[1m${text}\u001b[22m` : text),
    bytes: () => Buffer.concat(written),
  };
};

type CallWorld = Partial<World> & { readonly columns?: number };

/** Runs a CLI call in this process, isolated from the real terminal, environment and signals. */
export const callCli = async (argv: readonly string[], { columns, ...world }: CallWorld = {}) => {
  const [out, err] = [recorder(columns), recorder(columns)];
  const code = await runCli({
    argv,
    env: {},
    program: 'perdure',
    folder: process.cwd(),
    stdin: async function* () {},
    out,
    err,
    now: Date.now,
    interrupted: () => new AbortController().signal,
    onInterrupt: () => () => {},
    person: () => undefined,
    startDetached: () => {
      throw new Error('a CLI call in a test cannot start a detached process; pass `startDetached`');
    },
    call: () => {
      throw new Error('a CLI call in a test cannot call another command; pass `call`');
    },
    openRuntime,
    ...world,
  });
  const bytes = out.bytes();
  const raw = bytes.toString('utf8');
  if (!world.out) checkJson(argv, { code, out: raw });
  return {
    code,
    bytes,
    raw,
    out: stripVTControlCharacters(raw),
    err: stripVTControlCharacters(err.bytes().toString('utf8')),
  };
};

/** Runs a CLI call on an in-memory store, which needs no file and no thread. */
export const callCliOn = (database: MemoryDatabase, argv: readonly string[], world: CallWorld = {}) =>
  callCli([...argv, '--store', 'memory'], {
    openRuntime: (options) => openRuntime({ ...options, store: openMemoryStore(database) }),
    ...world,
  });
