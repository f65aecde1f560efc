import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { CommandRequest } from './command-record.ts';
import { processRlimit } from './kernel-limits.ts';

const shells = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];
export const shellPath = (): string => shells.find(existsSync) ?? '/bin/sh';

/** The descriptor for the script's report. One digit, because some shells support no more. */
export const leftDescriptor = 8;

/**
 * Sets rlimits. They are hard limits, which nothing in a sandbox can raise. The kernel counts processes only where no
 * cgroup does. It limits memory by process, so the supervisor watches the sum.
 */
const limit = (request: CommandRequest): string => {
  const { shell, sandbox, isGrouped, fileBytes, openFiles, cpuMs, processes, memoryBytes } = request;
  const isBash = basename(shell) === 'bash';
  const seconds = Math.ceil(cpuMs / 1000);
  const tasks = isGrouped ? undefined : processRlimit(processes, sandbox !== undefined);
  const limits = [
    '-c 0',
    `-f ${Math.ceil(fileBytes / (isBash ? 1024 : 512))}`,
    `-n ${openFiles}`,
    // A program gets SIGXCPU at the soft limit, and is killed at the hard one.
    `-Ht ${seconds + 1}`,
    `-St ${seconds}`,
    ...(isGrouped ? [] : [`-d ${Math.ceil(memoryBytes / 1024)}`]),
    ...(tasks === undefined ? [] : [`${isBash ? '-u' : '-p'} ${tasks}`]),
  ];
  return limits.map((each) => `ulimit ${each} 2>/dev/null`).join('; ');
};

/**
 * The arguments of the shell. The script runs the command in the last working folder, and reports its final folder and
 * environment.
 */
export const shellArguments = (request: CommandRequest): readonly string[] => {
  const { command, shell, cwd } = request;
  const leave = `{ pwd -P; printf '\\0'; /usr/bin/env -0; } >&${leftDescriptor} 2>/dev/null || :`;
  const trap = `perdure_left() { perdure_code=$?; ${leave}; exit $perdure_code; }; trap perdure_left EXIT`;
  const begin = `{ cd -- "$2" 2>/dev/null && printf 'begun\\0' || printf 'moved\\0'; } >&${leftDescriptor}`;
  // The script is one line, so that line numbers in errors refer to the command.
  const script = `${limit(request)}; ${begin}; ${trap}; perdure_command=$1; shift 2; eval "$perdure_command"`;
  return ['-c', script, basename(shell), command, cwd];
};

export interface Left {
  /** False if the shell failed before the command. */
  readonly hasBegun: boolean;
  /** Whether the intended working folder was gone. */
  readonly isMoved: boolean;
  /** The output of `env -0`. Undefined if the shell did not finish. */
  readonly env: string | undefined;
  readonly cwd: string | undefined;
}

const maxPathLength = 4096;

/** Parses the report. It is untrusted, because commands can write to the same descriptor. */
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
