import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '../cli/perdure-command.ts';

const stub = fileURLToPath(new URL('perdure-stub.ts', import.meta.url));

interface ProgramOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly stdin?: string | undefined;
}

export const runProgram = async (program: string, args: readonly string[], { stdin, ...options }: ProgramOptions) => {
  const child = spawn(program, args, options);
  child.stdin.on('error', () => {}); // the program may exit without reading its input
  child.stdin.end(stdin);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes));
  const [code] = await once(child, 'close');
  return { code, output };
};

/**
 * Writes scripts that shadow all other programs of the same name. `perdure` is a script whose commands
 * `startCommandsHere` runs.
 */
export const putPrograms = (folder: string, programs: Readonly<Record<string, string>> = {}): void => {
  const all = { perdure: `exec '${process.execPath}' '${stub}' "$@"`, ...programs };
  mkdirSync(join(folder, 'bin'));
  for (const [name, script] of Object.entries(all)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
};

/** Runs a shell in a folder with its own programs. */
export const runShell = (
  shell: string,
  script: string,
  { cwd, socket, env, stdin }: ProgramOptions & { readonly socket: string },
) =>
  runProgram(shell, ['-c', script], {
    cwd,
    stdin,
    env: {
      ...environment,
      ...env,
      PATH: [join(cwd, 'bin'), process.env.PATH].join(delimiter),
      PERDURE_TEST_SOCKET: socket,
    },
  });
