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
import type { Environment, EnvironmentChanges } from './environment.ts';
import type { Sandbox } from './sandbox.ts';

/**
 * What the processes around a command know of each other: a folder, in which each file has one writer.
 *
 *   request    the runner that began   what to run
 *   lease      every runner            touched while somebody waits for the command
 *   attached   every runner            who came last
 *   cancel     a runner                asks for the end
 *   claimed    the supervisor          whoever makes it runs the command; nobody else ever does
 *   group      the supervisor          the process that leads the command's group; in a sandbox the first one
 *   output     the supervisor          as much as may be kept, from the beginning
 *   tail       the supervisor          the end of an output that is longer than that
 *   left       the supervisor          what the command's shell told of itself
 *   outcome    the supervisor          how it ended; the last to be written
 */
export interface CommandRequest {
  readonly command: string;
  readonly shell: string;
  /** The session's, where the command runs when the folder of the one before is gone. */
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
}

export interface CommandOutcome {
  /**
   * By itself, or ended: too slow, cancelled, since nobody waited for it any more, or for what it took. `failed`: it could not be started,
   * and nothing of it has run.
   */
  readonly ended: 'exited' | 'timeout' | 'cancelled' | 'lapsed' | 'memory' | 'processes' | 'failed';
  /** As shells have it: 128 and the signal's number for one that a signal ended. */
  readonly exitCode: number | null;
  /** Of the whole output, kept or not. */
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

  /** The same for every attempt of a call on this machine, and for no other call. */
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

  /** In one step, and only the first time. */
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

  /** False when another supervisor has it, or had. */
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

  /** Only for who ends what a killed supervisor left, so the command does not depend on it. */
  leadBy(leader: ProcessIdentity): void {
    this.#tryToWrite('group', leader);
  }

  leader(): ProcessIdentity | undefined {
    return this.#read('group') as ProcessIdentity | undefined;
  }

  /** The next command begins as this one did where it cannot be written. */
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

  /** Changes with every renewal. */
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
      throw new ToolFailure('what was recorded of the command is damaged', { cause });
    }
  }

  #tryToWrite(file: string, value: unknown): void {
    try {
      this.#write(file, value);
    } catch {
      // A full disk.
    }
  }

  #write(file: string, value: unknown): void {
    const draft = join(this.folder, `${file}.${process.pid}`);
    writeFileSync(draft, JSON.stringify(value));
    renameSync(draft, join(this.folder, file));
  }
}
