import { relative, sep } from 'node:path';

/**
 * Command that starts this program from a folder, which may be a checkout, a project that has it installed, or any
 * other folder.
 */
export const programName = (file: string, folder: string): string => {
  const [first, second, ...more] = relative(folder, file).split(sep);
  if (first === 'node_modules') return 'npx perdure';
  return first === 'bin' && second === 'perdure' && more.length === 0 ? './bin/perdure' : 'perdure';
};
