import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { relative, sep } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';

const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const fromHere = relative(process.cwd(), bin);
export const perdure = fromHere.startsWith('..') ? bin : `.${sep}${fromHere}`;

const coloured = styleText('red', '') !== '';
let steps = 0;

export const paint = (style: Parameters<typeof styleText>[0], words: string): string => styleText(style, words);
export const say = (line = ''): void => console.log(line === '' ? '' : `   ${line}`);
export const title = (line: string): void => console.log(paint('bold', line));
export const step = (what: string): void => {
  steps += 1;
  console.log(`\n${paint(['bold', 'cyan'], String(steps))}  ${paint('bold', what)}`);
};
export const command = (line: string): void => say(paint('dim', `$ ${line}`));

/** Says what holds, or ends the story: nothing is claimed here that was not checked. */
export const claim = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(`this does not hold: ${what}`);
  say(`${paint('green', '✓')} ${what}`);
};

export const figure = (number: number): string => number.toLocaleString('en-US');

/** Types a command as a person would and shows what it says. */
export const type = async (
  store: string,
  args: readonly string[],
  { exit = 0 } = {},
): Promise<{ readonly output: string }> => {
  command([perdure, ...args.map((arg) => (/^[\w:.…-]+$/.test(arg) ? arg : `'${arg}'`))].join(' '));
  const { NO_COLOR, FORCE_COLOR, ...rest } = process.env;
  const child = spawn(process.execPath, [bin, ...args], {
    env: { ...rest, PERDURE_STORE: store, ...(coloured ? { FORCE_COLOR: '1' } : { NO_COLOR: '1' }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, problem, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code !== exit) throw new Error(`\`perdure ${args.join(' ')}\` ended with ${code}: ${problem || output}`);
  for (const line of (output + problem).trimEnd().split('\n')) say(line);
  return { output: output.trimEnd() };
};
