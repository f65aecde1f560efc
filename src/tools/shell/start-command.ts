import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { identityOf, isRunning, type ProcessIdentity } from '../../core/host/process-identity.ts';
import { CommandProcesses } from './command-processes.ts';
import type { CommandRecord, CommandRequest } from './command-record.ts';
import { applyChanges } from './environment.ts';
import { markName } from './process-search.ts';
import { sandboxArguments } from './sandbox.ts';
import { SandboxProcesses } from './sandbox-processes.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { leftDescriptor, shellArguments } from './shell-script.ts';

const argsDescriptor = 3;
const statusDescriptor = 4;
const seccompDescriptor = 5;
const maxLeftBytes = 256 * 1024;

export interface StartedCommand {
  readonly child: ChildProcess;
  /**
   * The leader of the process group. In a sandbox its first process, or undefined if the sandbox could not be created.
   */
  readonly leader: Promise<ProcessIdentity | undefined>;
  readonly left: BoundedText;
}

/** Collects the text of a stream up to a size limit. */
export class BoundedText {
  readonly ended: Promise<unknown>;
  readonly #chunks: Buffer[] = [];
  #room = maxLeftBytes;
  isWhole = false;

  constructor(stream: Readable) {
    stream.on('data', (chunk: Buffer) => {
      if (this.#room > 0) this.#chunks.push(chunk.subarray(0, this.#room));
      this.#room -= chunk.length;
    });
    this.ended = once(stream, 'close').finally(() => {
      this.isWhole = true;
    });
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

const stdio = (output: number, pipes: readonly number[]): StdioOptions => {
  const more = Array.from({ length: leftDescriptor - 2 }, (_, at) => (pipes.includes(at + 3) ? 'pipe' : 'ignore'));
  return ['ignore', output, output, ...more];
};

/** The first process of the sandbox, from bwrap's status. Reads to the end, because bwrap also writes when it ends. */
const firstOf = (status: Readable): Promise<ProcessIdentity | undefined> =>
  new Promise((resolve) => {
    let text = '';
    status.on('data', (chunk) => {
      text += chunk;
      const pid = /"child-pid": (\d+)\D/.exec(text)?.[1];
      if (pid) resolve(identityOf(Number(pid)));
    });
    status.on('close', () => resolve(undefined));
  });

const enter = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 >"$1" || exit 125; shift; n=$((n - 1)); done; exec "$@"';

/** The program, started so that it enters its cgroups before it can start another. */
const within = (entrances: readonly string[], file: string, args: readonly string[]) =>
  entrances.length === 0
    ? { file, args }
    : { file: '/bin/sh', args: ['-c', enter, 'sh', String(entrances.length), ...entrances, file, ...args] };

const leftOf = ({ stdio }: ChildProcess) => stdio[leftDescriptor as 4] as Readable;

/** bwrap itself does not get the command's environment, which could make it load code outside the sandbox. */
const startConfined = (
  record: CommandRecord,
  request: CommandRequest,
  output: number,
  entrances: readonly string[],
): StartedCommand => {
  const { sandbox, shell, base, changes } = request;
  const args = sandboxArguments(sandbox!, applyChanges(base, changes));
  const filter = sandbox!.hasFilter ? seccompFilter() : undefined;
  const own = [
    ...['--args', String(argsDescriptor), '--json-status-fd', String(statusDescriptor)],
    ...(filter ? ['--seccomp', String(seccompDescriptor)] : []),
  ];
  const program = within(entrances, sandbox!.bwrap, [...own, '--', shell, ...shellArguments(request)]);
  const child = spawn(program.file, program.args, {
    cwd: '/',
    env: { [markName]: record.folder },
    detached: true,
    stdio: stdio(output, [argsDescriptor, statusDescriptor, leftDescriptor, ...(filter ? [seccompDescriptor] : [])]),
  });
  const send = (descriptor: number, content: string | Buffer): void => {
    const input = child.stdio[descriptor] as Writable;
    // Ignores a broken pipe. If bwrap has ended, its output says why.
    input.on('error', () => undefined);
    input.end(content);
  };
  send(argsDescriptor, args.map((arg) => `${arg}\0`).join(''));
  if (filter) send(seccompDescriptor, filter);
  const leader = firstOf(child.stdio[statusDescriptor] as Readable);
  return { child, leader, left: new BoundedText(leftOf(child)) };
};

/** Starts the command inside the cgroups with these entrances. */
export const startCommand = (
  record: CommandRecord,
  request: CommandRequest,
  output: number,
  entrances: readonly string[],
): StartedCommand => {
  if (request.sandbox) return startConfined(record, request, output, entrances);
  const { shell, base, changes, folder } = request;
  const program = within(entrances, shell, shellArguments(request));
  const child = spawn(program.file, program.args, {
    cwd: folder,
    env: { ...applyChanges(base, changes), [markName]: record.folder },
    detached: true,
    stdio: stdio(output, [leftDescriptor]),
  });
  const leader = Promise.resolve(child.pid === undefined ? undefined : identityOf(child.pid));
  return { child, leader, left: new BoundedText(leftOf(child)) };
};

/** All processes of a command. */
export const processesOf = (
  record: CommandRecord,
  isConfined: boolean,
  leader: ProcessIdentity | undefined,
): SandboxProcesses | CommandProcesses => {
  if (isConfined && leader) return new SandboxProcesses(leader);
  return new CommandProcesses(leader && isRunning(leader) ? leader.pid : undefined, record.folder);
};
