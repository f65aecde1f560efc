import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin } from '../../core/files/disk/find-inside.ts';
import { type Tool, type ToolContext, ToolFailure } from '../../core/ports/tool.ts';
import { findSandbox } from './find-sandbox.ts';
import { type KernelLimits, kernelLimits } from './kernel-limits.ts';
import { type Sandbox, sandboxHome } from './sandbox.ts';

export interface ConfinementOptions {
  /** `auto` uses a sandbox if the host supports it, `required` runs no command without one, `off` never uses one. */
  readonly sandbox: 'auto' | 'required' | 'off';
  readonly network: boolean;
  readonly readable: readonly string[];
  readonly bwrap: string | undefined;
  readonly recordsFolder: string;
}

export class SandboxUnavailable extends ToolFailure {
  override readonly name = 'SandboxUnavailable';
}

/** A sandbox does not count if a fork bomb in it could take all process ids of the host. */
const unbounded =
  'the kernel limits no processes of root without cgroups: run the worker as another user, or let it write to its cgroup';

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Decides how the commands of one shell tool are confined on this host. Probes the host only when asked. */
export class Confinement {
  readonly #options: ConfinementOptions;
  readonly #limits: () => KernelLimits;

  constructor(options: ConfinementOptions, limits: () => KernelLimits = kernelLimits) {
    this.#options = options;
    this.#limits = limits;
  }

  /** Why there is no sandbox. Undefined if there is one. */
  get problem(): string | undefined {
    const found = this.#find();
    return 'problem' in found ? found.problem : undefined;
  }

  get kind(): NonNullable<Tool['confinement']> {
    if (this.#options.sandbox === 'off') return 'off';
    return this.isOpen ? 'open' : 'sandboxed';
  }

  /** Whether commands run without a sandbox. */
  get isOpen(): boolean {
    return this.#options.sandbox !== 'required' && this.problem !== undefined;
  }

  /** A warning for people. Undefined if commands run in a sandbox. */
  get caution(): string | undefined {
    if (this.problem === undefined) return undefined;
    return `${this.isOpen ? 'commands run without a sandbox' : 'no command runs without a sandbox'}: ${this.problem}`;
  }

  /** A description for the model. */
  get description(): string {
    const { network } = this.#options;
    if (this.isOpen) return 'Commands run without a sandbox.';
    if (this.problem !== undefined) return 'No command runs on this host, because there is no sandbox.';
    const reach = network ? 'the network is that of the host' : 'there is no network';
    return `Commands run in a sandbox: they can write to the session folder and to /tmp, which is the home folder too, and ${reach}.`;
  }

  /** The sandbox of a command. Undefined if it runs without one. */
  sandboxFor({ folder, temporary }: Pick<ToolContext, 'folder' | 'temporary'>): Sandbox | undefined {
    const { sandbox, network, readable, recordsFolder } = this.#options;
    const found = this.#find();
    if ('bwrap' in found) {
      const hidden = [join(folder, '.perdure'), recordsFolder].filter(
        (path) => path !== folder && isWithin(folder, path) && isFolder(path),
      );
      const { bwrap, hasFilter } = found;
      return { bwrap, folder, temporary, readable, hidden, hasNetwork: network, hasFilter };
    }
    if (sandbox !== 'required') return undefined;
    throw new SandboxUnavailable(`the command was not run, because it requires a sandbox: ${found.problem}`);
  }

  /** Environment variables with paths that differ inside the sandbox. */
  environmentFor(sandbox: Sandbox | undefined, { temporary }: Pick<ToolContext, 'temporary'>) {
    return sandbox ? { HOME: sandboxHome, TMPDIR: '/tmp' } : { TMPDIR: temporary };
  }

  #find() {
    const { sandbox, bwrap, network } = this.#options;
    if (sandbox === 'off') return { problem: 'the deployment switched the sandbox off' };
    const found = findSandbox({ bwrap, hasNetwork: network });
    if ('bwrap' in found && this.#limits().processes === 'watch') return { problem: unbounded };
    return found;
  }
}
