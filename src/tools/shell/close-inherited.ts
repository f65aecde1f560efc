import { closeSync, readdirSync, readFileSync } from 'node:fs';

const closedOnExec = 0o2000000;

const isInherited = (descriptor: number): boolean => {
  try {
    const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closedOnExec) === 0;
  } catch {
    return false;
  }
};

/**
 * Closes descriptors inherited from the program that started the worker, so that commands do not get them. Node's own
 * descriptors are close-on-exec.
 */
export const closeInherited = (): void => {
  if (process.platform !== 'linux') return;
  const descriptors = readdirSync('/proc/self/fd').map(Number);
  for (const each of descriptors.filter((descriptor) => descriptor > 2 && isInherited(descriptor))) closeSync(each);
};
