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

/** No more than a command needs: CI, NO_COLOR, a provider's key and the like would change answers by where a test is run. */
export const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.includes(name)));

/** The real command in a process of its own. */
export const startPerdure = (args: readonly string[], { cwd, env }: CommandOptions): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [bin, ...args], { cwd, env: { ...environment, ...env } });

export const runPerdure = async (args: readonly string[], options: CommandOptions) => {
  const child = startPerdure(args, options);
  child.stdin.on('error', () => {}); // a command that needs no input may have ended before it was given
  child.stdin.end(options.stdin ?? '');
  const [bytes, err, [code]] = await Promise.all([buffer(child.stdout), text(child.stderr), once(child, 'close')]);
  const out = bytes.toString('utf8');
  checkJson(args, { code, out });
  return { code: code as number | null, out, err, bytes };
};

/** That of a pipe. */
export const worldOf = ({ env, stdin = '' }: CallOptions = {}) => ({
  columns: Number.POSITIVE_INFINITY,
  env: { ...environment, ...env },
  stdin: async function* () {
    yield Buffer.from(stdin);
  },
});

/**
 * The same command within this process and in its current folder, which is many times cheaper: for what does not depend on processes,
 * signals or terminals.
 */
export const callPerdure = async (args: readonly string[], options?: CallOptions) => {
  const { raw, ...answer } = await callCli(args, worldOf(options));
  return { ...answer, out: raw };
};
