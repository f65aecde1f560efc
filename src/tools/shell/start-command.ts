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
import { leftDescriptor, shellArguments } from './shell-script.ts';

const argsDescriptor = 3;
const statusDescriptor = 4;
const maxLeftBytes = 256 * 1024;

export interface StartedCommand {
  readonly child: ChildProcess;
  /** Of the group; in a sandbox its first process, undefined when none could be made. */
  readonly leader: Promise<ProcessIdentity | undefined>;
  readonly left: BoundedText;
}

/** What comes by a stream, as far as it is kept. */
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

/** Read to its end, which bwrap writes to as well. */
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

const leftOf = ({ stdio }: ChildProcess) => stdio[leftDescriptor as 4] as Readable;

/** bwrap itself has nothing of the command's environment, by which a command could make it load something outside of the sandbox. */
const startConfined = (record: CommandRecord, request: CommandRequest, output: number): StartedCommand => {
  const { sandbox, shell, base, changes } = request;
  const args = sandboxArguments(sandbox!, applyChanges(base, changes));
  const own = ['--args', String(argsDescriptor), '--json-status-fd', String(statusDescriptor)];
  const child = spawn(sandbox!.bwrap, [...own, '--', shell, ...shellArguments(request)], {
    cwd: '/',
    env: { [markName]: record.folder },
    detached: true,
    stdio: stdio(output, [argsDescriptor, statusDescriptor, leftDescriptor]),
  });
  const input = child.stdio[argsDescriptor] as Writable;
  // One that has ended says why.
  input.on('error', () => undefined);
  input.end(args.map((arg) => `${arg}\0`).join(''));
  const leader = firstOf(child.stdio[statusDescriptor] as Readable);
  return { child, leader, left: new BoundedText(leftOf(child)) };
};

export const startCommand = (record: CommandRecord, request: CommandRequest, output: number): StartedCommand => {
  if (request.sandbox) return startConfined(record, request, output);
  const { shell, base, changes, folder } = request;
  const child = spawn(shell, shellArguments(request), {
    cwd: folder,
    env: { ...applyChanges(base, changes), [markName]: record.folder },
    detached: true,
    stdio: stdio(output, [leftDescriptor]),
  });
  const leader = Promise.resolve(child.pid === undefined ? undefined : identityOf(child.pid));
  return { child, leader, left: new BoundedText(leftOf(child)) };
};

/** All that a command has started. */
export const processesOf = (
  record: CommandRecord,
  isConfined: boolean,
  leader: ProcessIdentity | undefined,
): SandboxProcesses | CommandProcesses => {
  if (isConfined && leader) return new SandboxProcesses(leader);
  return new CommandProcesses(leader && isRunning(leader) ? leader.pid : undefined, record.folder);
};
