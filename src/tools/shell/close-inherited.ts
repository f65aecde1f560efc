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

/** What whoever started the worker left open is not for commands. All that Node opens itself is closed when another program is started. */
export const closeInherited = (): void => {
  if (process.platform !== 'linux') return;
  const descriptors = readdirSync('/proc/self/fd').map(Number);
  for (const each of descriptors.filter((descriptor) => descriptor > 2 && isInherited(descriptor))) closeSync(each);
};
