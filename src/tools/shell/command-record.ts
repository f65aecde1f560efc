import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ProcessIdentity, thisProcess } from '../../core/host/process-identity.ts';
import { ToolFailure } from '../../core/ports/tool.ts';
import { CommandGroup } from './command-group.ts';
import type { Environment, EnvironmentChanges } from './environment.ts';
import type { Sandbox } from './sandbox.ts';

/**
 * The record of a command: a folder through which the processes around the command communicate.
 *
 *   File       Writer             Content
 *   request    the first runner   what to run
 *   lease      every runner       touched while a runner waits for the command
 *   attached   every runner       the runner that attached last
 *   cancel     a runner           requests the end of the command
 *   claimed    the supervisor     only the supervisor that creates this file runs the command
 *   cgroup     the supervisor     the folders of the command's cgroup
 *   group      the supervisor     the leader of the command's process group; in a sandbox its first process
 *   output     the supervisor     the beginning of the output, up to the size limit
 *   tail       the supervisor     the end of an output that exceeds the limit
 *   left       the supervisor     the final folder and environment that the command's shell reported
 *   outcome    the supervisor     how the command ended; written last
 */
export interface CommandRequest {
  readonly command: string;
  readonly shell: string;
  /** The session's folder. The command runs here if the working folder of the previous command is gone. */
  readonly folder: string;
  readonly cwd: string;
  readonly base: Environment;
  readonly changes: EnvironmentChanges;
  readonly sandbox?: Sandbox | undefined;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly maxFileBytes: number;
  readonly memoryBytes: number;
  readonly processes: number;
  readonly fileBytes: number;
  readonly cpuMs: number;
  readonly openFiles: number;
  readonly diskBytes: number;
  readonly diskFiles: number;
  /** Whether the command runs in a cgroup. Otherwise rlimits apply, and the supervisor watches. */
  readonly isGrouped: boolean;
}

type ExceededLimit = 'memory' | 'processes' | 'cpu' | 'disk';

export interface CommandOutcome {
  /**
   * `exited` by itself, or ended by the supervisor: after a timeout, a cancel, a lapsed lease, or an exceeded limit.
   * `failed` means that it could not be started, so that nothing of it has run.
   */
  readonly ended: 'exited' | 'timeout' | 'cancelled' | 'lapsed' | 'failed' | ExceededLimit;
  /** The exit code, or 128 plus the signal number if a signal ended it, as in shells. */
  readonly exitCode: number | null;
  /** The size of the whole output, including the part that was not kept. */
  readonly bytes: number;
  readonly message?: string | undefined;
}

export type RecordFile = 'output' | 'tail' | 'pipe' | 'log' | 'cancel' | 'lease' | 'attached';

export const tailBytes = 512 * 1024;

export class CommandRecord {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The record is the same for every attempt of a call on this machine, and unique to the call. */
  static of(records: string, workspace: string, key: string): CommandRecord {
    const name = createHash('sha256')
      .update(JSON.stringify([workspace, key]))
      .digest('hex')
      .slice(0, 32);
    return new CommandRecord(join(records, name));
  }

  path(file: RecordFile): string {
    return join(this.folder, file);
  }

  exists(): boolean {
    return existsSync(join(this.folder, 'request'));
  }

  /** Creates the record atomically. Has no effect if it already exists. */
  begin(request: CommandRequest): void {
    const draft = join(dirname(this.folder), `${basename(this.folder)}.${process.pid}`);
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    writeFileSync(join(draft, 'lease'), '');
    writeFileSync(join(draft, 'request'), JSON.stringify(request), { mode: 0o600 });
    try {
      renameSync(draft, this.folder);
    } catch (error) {
      rmSync(draft, { recursive: true });
      if (!this.exists()) throw error;
    }
  }

  request(): CommandRequest {
    return this.#read('request') as CommandRequest;
  }

  /** Returns false if another supervisor runs or ran the command. */
  claim(): boolean {
    const draft = join(this.folder, `claim.${process.pid}`);
    writeFileSync(draft, JSON.stringify(thisProcess()));
    try {
      linkSync(draft, join(this.folder, 'claimed'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  claimedBy(): ProcessIdentity | undefined {
    return this.#read('claimed') as ProcessIdentity | undefined;
  }

  /**
   * Records the leader, which is only needed to end the processes of a killed supervisor. A failure to write it is
   * ignored.
   */
  leadBy(leader: ProcessIdentity): void {
    this.#tryToWrite('group', leader);
  }

  /** Records the cgroup, which is only needed to end the processes of a killed supervisor. */
  groupIn(version: 1 | 2, folders: CommandGroup['folders']): void {
    this.#tryToWrite('cgroup', { version, folders });
  }

  group(): CommandGroup | undefined {
    const known = this.#read('cgroup') as Pick<CommandGroup, 'folders'> & { readonly version: 1 | 2 };
    return known && new CommandGroup(known.version, known.folders);
  }

  leader(): ProcessIdentity | undefined {
    return this.#read('group') as ProcessIdentity | undefined;
  }

  /**
   * Records the final folder and environment. If that fails, the next command starts in the same folder and
   * environment as this one.
   */
  leave(left: string): void {
    this.#tryToWrite('left', left);
  }

  left(): string {
    return (this.#read('left') as string | undefined) ?? '';
  }

  end(outcome: CommandOutcome): void {
    this.#write('outcome', outcome);
  }

  outcome(): CommandOutcome | undefined {
    return this.#read('outcome') as CommandOutcome | undefined;
  }

  attach(runner: string): void {
    this.renew();
    writeFileSync(this.path('attached'), runner);
  }

  isAttached(runner: string): boolean {
    return this.text('attached') === runner;
  }

  renew(): void {
    if (!this.exists()) return;
    const now = new Date();
    utimesSync(this.path('lease'), now, now);
  }

  /** A value that changes with every renewal. */
  leaseMark(): number {
    return statSync(this.path('lease'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  cancel(): void {
    if (this.exists()) writeFileSync(this.path('cancel'), '');
  }

  isCancelled(): boolean {
    return existsSync(this.path('cancel'));
  }

  text(file: RecordFile): string | undefined {
    try {
      return readFileSync(this.path(file), 'utf8');
    } catch {
      return undefined;
    }
  }

  #read(file: string): unknown {
    const path = join(this.folder, file);
    if (!existsSync(path)) return undefined;
    try {
      return JSON.parse(readFileSync(path, 'utf8'));
    } catch (cause) {
      throw new ToolFailure(`the record of the command is damaged: ${path}`, { cause });
    }
  }

  #tryToWrite(file: string, value: unknown): void {
    try {
      this.#write(file, value);
    } catch {
      // The disk may be full.
    }
  }

  #write(file: string, value: unknown): void {
    const draft = join(this.folder, `${file}.${process.pid}`);
    writeFileSync(draft, JSON.stringify(value));
    renameSync(draft, join(this.folder, file));
  }
}
