/** Runs `perdure demo` on a terminal of 80 columns and draws what it shows: `npm run recording`. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawScreen } from './draw-screen.ts';
import { screenOf } from './terminal-screen.ts';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const picture = join(checkout, 'docs', 'pictures', 'demo.svg');
/** The folder of the demo. It is the same on every machine, because the recording shows it. */
const folder = '/tmp/perdure-demo';
const command = `perdure demo --in ${folder}`;

if (existsSync(folder)) throw new Error(`${folder} already exists: remove it and run this again`);

const path = [join(checkout, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
const record = (line: string): string =>
  execFileSync('script', ['-qfec', `stty cols 80; ${line}`, '/dev/null'], {
    encoding: 'utf8',
    env: { PATH: path, TERM: 'xterm-256color', LANG: 'C.UTF-8', ...(process.env.HOME && { HOME: process.env.HOME }) },
  });

try {
  const lines = screenOf(`\x1b[2m$\x1b[22m \x1b[1m${command}\x1b[22m\n${record(command)}`);
  mkdirSync(dirname(picture), { recursive: true });
  writeFileSync(picture, drawScreen(lines, `What \`${command}\` shows`));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
