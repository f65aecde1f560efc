import { findSandbox } from './find-sandbox.ts';
import { type KernelLimits, kernelLimits } from './kernel-limits.ts';

/** Which protections of commands hold on this host. */
export interface SandboxReport {
  /** Why there is no sandbox. Undefined if there is one. */
  readonly problem: string | undefined;
  readonly hasFilter: boolean;
  readonly limits: KernelLimits;
}

export const sandboxReport = (): SandboxReport => {
  const found = findSandbox({ hasNetwork: false });
  const limits = kernelLimits();
  const unbounded = limits.processes === 'watch' ? 'the kernel limits no processes of this user' : undefined;
  return {
    problem: 'problem' in found ? found.problem : unbounded,
    hasFilter: 'hasFilter' in found && found.hasFilter,
    limits,
  };
};
