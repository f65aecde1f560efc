import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lifecycleTable } from '../../scripts/reference/lifecycle-table.ts';
import { commands, lifecycle } from '../../src/core/session/lifecycle.ts';
import { statuses } from '../../src/schema/statuses.ts';

const cellsOf = (line: string): readonly string[] => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''));
const [, , ...rows] = lifecycleTable.render().split('\n').map(cellsOf);

test('[LIFE4] the table has a row for each status, and every command is in one place of it', () => {
  expect(rows.slice(0, statuses.length).map(([status]) => status)).toEqual(statuses.map((each) => `\`${each}\``));
  for (const [index, status] of statuses.entries()) {
    const [, , leads = '', keeps = '', forbids = ''] = rows[index]!;
    for (const command of commands.filter((each) => each !== 'requestPause')) {
      const next = lifecycle[status][command];
      const places = [leads, keeps, forbids].map((cell) => cell.includes(`\`${command}\``));
      expect(places, `${command} in ${status}`).toEqual([
        next !== undefined && next !== status,
        next === status,
        !next,
      ]);
      if (places[0]) expect(leads).toMatch(new RegExp(`\`${command}\`[^<]* → \`${next}\``));
    }
  }
});

test('[LIFE4] the table says what a run and a quarantine forbid, and the page has it', () => {
  expect(rows.slice(statuses.length).map(([status, means, , , forbids]) => [status, means, forbids])).toEqual([
    ['any', 'a run has begun and not ended', '`close`, `rewind` or `retry`'],
    ['any', 'quarantined: its log is damaged', '`append`, `send`, `commit`, `pause`, `resume`, `reopen`'],
  ]);
  expect(readFileSync(lifecycleTable.path, 'utf8')).toContain(lifecycleTable.render());
});
