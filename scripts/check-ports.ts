/**
 * Checks that the core gets time, timers and randomness only from src/core/ports, so that tests and simulations can
 * inject them.
 */
import { readFiles } from './read-files.ts';
import { reportProblems } from './report-problems.ts';

const ambient =
  /\b(?:set(?:Timeout|Interval|Immediate)\b|Date\.now\b|new Date\b(?!\([^)])|performance\.now\b|process\.(?:hrtime|uptime)\b|AbortSignal\.timeout\b|Atomics\.wait\b|Math\.random\b|getRandomValues\b|random(?:UUID|Bytes|Int|Fill)\w*|node:timers\b|concurrency\/pause\b|system(?:Clock|Timekeeper|Random)\b)/g;

const ports = 'src/core/ports/';

/** Folders and files that may use the platform directly, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'src/core/files/disk/':
    'works on real files beside other processes: it compares times with theirs, and file names must differ',
  'src/core/bundles/scratch-file.ts': 'names a real file, whose name must be unique',
  'src/core/access/stored-key.ts': 'makes API keys, which must be unpredictable',
  'src/core/vault/seal.ts': 'makes keys and nonces, which must never repeat',
  'src/core/webhooks/signing-secret.ts': 'makes secrets, which must be unpredictable',
};

const isBelow = (path: string, place: string): boolean =>
  place.endsWith('/') ? path.startsWith(place) : path === place;
const isSource = (path: string): boolean =>
  path.startsWith('src/core/') && !path.startsWith(ports) && !path.endsWith('.test.ts');

const linesOf = (text: string): readonly string[] => text.split('\n');

export function findPortProblems(
  files: ReadonlyMap<string, string>,
  excepted: Readonly<Record<string, string>> = exceptions,
): string[] {
  const used = new Set<string>();
  const problems: string[] = [];
  for (const [path, text] of files) {
    if (!isSource(path)) continue;
    const exception = Object.keys(excepted).find((place) => isBelow(path, place));
    for (const [index, line] of linesOf(text).entries()) {
      for (const [found] of line.matchAll(ambient)) {
        if (exception === undefined)
          problems.push(`${path}:${index + 1} uses ${found}: take it from a port in ${ports}`);
        else used.add(exception);
      }
    }
  }
  const unused = Object.keys(excepted).filter((place) => !used.has(place));
  return [
    ...problems,
    ...unused.map((place) => `${place} is an exception of scripts/check-ports.ts that nothing needs`),
  ];
}

if (import.meta.main) {
  const files = readFiles('src/core/**/*.ts');
  reportProblems('ports', 'the core takes time, timers and randomness from its ports', findPortProblems(files));
}
