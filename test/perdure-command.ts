import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCli } from '../src/cli/run-cli.ts';
import type { Terminal } from '../src/cli/terminal.ts';
import { openRuntime } from '../src/index.ts';

const bin = fileURLToPath(new URL('../bin/perdure', import.meta.url));

export interface CallOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}

export interface CommandOptions extends CallOptions {
  readonly cwd: string;
}

/** What would change the answers of a test by where it is run. */
const { NO_COLOR, FORCE_COLOR, PERDURE_STORE, PERDURE_WORKSPACE, PERDURE_DEBUG, ...environment } = process.env;

/** The real command in a process of its own. */
export const startPerdure = (args: readonly string[], { cwd, env }: CommandOptions): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [bin, ...args], { cwd, env: { ...environment, ...env } });

export const runPerdure = async (args: readonly string[], options: CommandOptions) => {
  const child = startPerdure(args, options);
  child.stdin.on('error', () => {}); // a command that needs no input may have ended before it was given
  child.stdin.end(options.stdin ?? '');
  const [bytes, err, [code]] = await Promise.all([buffer(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, out: bytes.toString('utf8'), err, bytes };
};

const pipeInto = (chunks: Buffer[]): Terminal => ({
  isTerminal: false,
  columns: Number.POSITIVE_INFINITY,
  write: async (output) => void chunks.push(Buffer.from(output)),
  style: (_style, text) => text,
});

/**
 * The same command within this process and in its current folder, which is many times cheaper: for what does not depend on processes,
 * signals or terminals.
 */
export const callPerdure = async (args: readonly string[], { env, stdin = '' }: CallOptions = {}) => {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const code = await runCli({
    argv: args,
    env: { ...environment, ...env },
    folder: process.cwd(),
    stdin: async function* () {
      yield Buffer.from(stdin);
    },
    out: pipeInto(out),
    err: pipeInto(err),
    now: Date.now,
    interrupted: () => new AbortController().signal,
    onInterrupt: () => () => {},
    person: () => undefined,
    startDetached: () => {
      throw new Error('a command within the test starts no other');
    },
    openRuntime,
  });
  const bytes = Buffer.concat(out);
  return { code, out: bytes.toString('utf8'), err: Buffer.concat(err).toString('utf8'), bytes };
};
