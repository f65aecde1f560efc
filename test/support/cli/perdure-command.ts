import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { callCli } from './call-cli.ts';
import { checkJson } from './check-json.ts';

export const bin = fileURLToPath(new URL('../../../bin/perdure', import.meta.url));

export interface CallOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}

export interface CommandOptions extends CallOptions {
  readonly cwd: string;
}

const passedOn = ['PATH', 'HOME', 'TMPDIR', 'NODE_COMPILE_CACHE'];

/**
 * The variables that a command needs. Others, such as CI, NO_COLOR or a provider's key, would make results depend on
 * where the tests run.
 */
export const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.includes(name)));

/** Starts the real command in a new process. */
export const startPerdure = (args: readonly string[], { cwd, env }: CommandOptions): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [bin, ...args], { cwd, env: { ...environment, ...env } });

export const runPerdure = async (args: readonly string[], options: CommandOptions) => {
  const child = startPerdure(args, options);
  child.stdin.on('error', () => {}); // a command that ignores its input may exit before reading it
  child.stdin.end(options.stdin ?? '');
  const [bytes, err, [code]] = await Promise.all([buffer(child.stdout), text(child.stderr), once(child, 'close')]);
  const out = bytes.toString('utf8');
  checkJson(args, { code, out });
  return { code: code as number | null, out, err, bytes };
};

/** The surroundings of a command whose output goes to a pipe. */
export const worldOf = ({ env, stdin = '' }: CallOptions = {}) => ({
  columns: Number.POSITIVE_INFINITY,
  env: { ...environment, ...env },
  stdin: async function* () {
    yield Buffer.from(stdin);
  },
});

/**
 * Runs the same command in this process and in its current folder, which is many times cheaper. For tests that need
 * no separate process, signals or terminal.
 */
export const callPerdure = async (args: readonly string[], options?: CallOptions) => {
  const { raw, ...answer } = await callCli(args, worldOf(options));
  return { ...answer, out: raw };
};
