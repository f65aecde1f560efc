import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { recorder } from '../../../test/support/cli/call-cli.ts';
import { Narrator } from './narrator.ts';

const prose =
  'A script answers here, not a model. Everything else is real: each command runs as it is shown, and each claim is checked.';
const title = 'Its worker is killed in the middle of a call that may happen once';
const claim = 'the call happened once: its tool was asked what became of it, not run again';
const message = 'The counts must survive a restart, and so must everything else that somebody relies on.';

/** Returns the output on a terminal of this width, or in a pipe, and the width that the command received. */
const narrated = async (columns: number) => {
  const out = recorder(columns);
  let given = 0;
  const call = async (_: readonly string[], surroundings: { out?: { columns: number } } = {}) => {
    given = surroundings.out!.columns;
    return 0;
  };
  const narrator = new Narrator({ out, json: false, call }, {});
  await narrator.say(prose);
  await narrator.step(title);
  await narrator.type('send', { name: 'id', value: 'ses_1' }, message);
  await narrator.claim(claim, true);
  return { given, lines: stripVTControlCharacters(out.bytes().toString()).trimEnd().split('\n') };
};

test.each([
  [40, 40],
  [120, 120],
  [Number.POSITIVE_INFINITY, 80],
])(
  '[CLIR24] with %d columns prose is wrapped between words, commands get %d columns, and typed commands stay whole',
  async (columns, width) => {
    const { given, lines } = await narrated(columns);
    expect(given).toBe(width);
    const typed = `$ perdure send $id '${message}'`;
    expect(lines).toContain(typed);
    const said = lines.filter((line) => line !== typed);
    expect(Math.max(...said.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(said.join(' ').replaceAll(/ +/g, ' ')).toBe(`${prose} 1. ${title} ✓ ${claim}`);
  },
);
