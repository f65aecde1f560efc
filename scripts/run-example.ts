/** `npm run example 03` runs an example by its number; without a number it lists the examples. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import './outlive-reader.ts';
import { readFiles } from './read-files.ts';

const examples = readFiles('examples/[0-9][0-9]-*.ts', 'examples/[0-9][0-9]-*/main.ts');
const numberOf = (file: string) => file.slice('examples/'.length).slice(0, 2);
const [wanted] = process.argv.slice(2);
const found = [...examples.keys()].find((file) => numberOf(file) === wanted?.padStart(2, '0'));

if (found) {
  // Caches the compiled sources, so that they are not compiled at every start.
  const env = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/perdure'), ...process.env };
  const args = ['--import', import.meta.resolve('./outlive-reader.ts'), found];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1;
} else {
  for (const [file, text] of examples) console.log(`${numberOf(file)}  ${/\/\*\* (.+) \*\//.exec(text)?.[1]}`);
  console.error(wanted === undefined ? '\nnpm run example NUMBER runs one.' : `\nThere is no example ${wanted}.`);
  process.exitCode = wanted === undefined ? 0 : 2;
}
