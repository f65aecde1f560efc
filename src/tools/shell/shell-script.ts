import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { CommandRequest } from './command-record.ts';

const shells = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];
export const shellPath = (): string => shells.find(existsSync) ?? '/bin/sh';

/** Where the script says what it did; one digit, for shells that know no other. */
export const leftDescriptor = 8;

const limitFiles = (shell: string, maxBytes: number): string => {
  const blockBytes = basename(shell) === 'bash' ? 1024 : 512;
  return `ulimit -f ${Math.ceil(maxBytes / blockBytes)} 2>/dev/null`;
};

/** For a shell: runs the command where the one before it was, and tells where it ended up and with which environment. */
export const shellArguments = ({ command, shell, cwd, fileBytes }: CommandRequest): readonly string[] => {
  const leave = `{ pwd -P; printf '\\0'; /usr/bin/env -0; } >&${leftDescriptor} 2>/dev/null || :`;
  const trap = `perdure_left() { perdure_code=$?; ${leave}; exit $perdure_code; }; trap perdure_left EXIT`;
  const begin = `{ cd -- "$2" 2>/dev/null && printf 'begun\\0' || printf 'moved\\0'; } >&${leftDescriptor}`;
  // On the first line, so that what a shell says of lines is about the command's.
  const script = `${limitFiles(shell, fileBytes)}; ${begin}; ${trap}; perdure_command=$1; shift 2; eval "$perdure_command"`;
  return ['-c', script, basename(shell), command, cwd];
};

export interface Left {
  /** False when the shell never came to the command. */
  readonly hasBegun: boolean;
  /** The folder that it was to run in was gone. */
  readonly isMoved: boolean;
  /** As `env -0` prints it; undefined when the shell did not come to its end. */
  readonly env: string | undefined;
  readonly cwd: string | undefined;
}

const maxPathLength = 4096;

/** Commands can write there too, and say of themselves what they like. */
export const parseLeft = (text: string): Left => {
  const [begun = '', cwd, ...env] = text.split('\0');
  const path = cwd?.replace(/\n$/, '');
  return {
    hasBegun: begun !== '',
    isMoved: begun === 'moved',
    cwd: path?.startsWith('/') && path.length <= maxPathLength ? path : undefined,
    env: env.length > 0 ? env.join('\0') : undefined,
  };
};
