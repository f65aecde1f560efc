import {
  allowedCommands,
  allowedWhileDamaged,
  type Command,
  commands,
  forbiddenByRun,
  lifecycle,
} from '../../src/core/session/lifecycle.ts';
import { type Status, statuses } from '../../src/schema/statuses.ts';
import { code, table } from '../markdown.ts';
import type { PagePart } from './page.ts';

const meaning: Readonly<Record<Status, string>> = {
  open: 'nothing was said yet',
  active: 'messages and inputs are accepted',
  pausing: 'a run continues to its next safe point, then the session is paused',
  paused: 'inputs wait, and no run begins or continues',
  closed: 'the work is over',
  archived: 'closed, and its worktrees may be collected',
};

/** The commands whose names alone would not tell a reader what they are. */
const names: Partial<Readonly<Record<Command, string>>> = {
  requestPause: `${code('pause')} while a run is at work`,
  rewind: `${code('rewind')} or ${code('retry')}`,
};
const nameOf = (command: Command): string => names[command] ?? code(command);

/** A caller pauses in one way only, so no list names the request for a pause beside it. */
const list = (some: readonly Command[]): string => {
  const named = some.filter((command) => command !== 'requestPause').map(nameOf);
  return named.length === 0 ? '–' : named.join(', ');
};

const row = (status: Status): readonly string[] => {
  const allowed = allowedCommands(status);
  const leading = allowed.filter((command) => lifecycle[status][command] !== status);
  const arrows = leading.map((command) => `${nameOf(command)} → ${code(lifecycle[status][command]!)}`);
  return [
    code(status),
    meaning[status],
    arrows.length === 0 ? '–' : arrows.join('<br>'),
    list(allowed.filter((command) => !leading.includes(command))),
    list(commands.filter((command) => !allowed.includes(command))),
  ];
};

/** The rows of what restricts a session in every status. */
const restrictions: readonly (readonly string[])[] = [
  ['any', 'a run has begun and not ended', 'as above', 'as above', list([...forbiddenByRun])],
  [
    'any',
    'quarantined: its log is damaged',
    'as above',
    'as above',
    list(commands.filter((command) => !allowedWhileDamaged.has(command))),
  ],
];

export const lifecycleTable: PagePart = {
  path: 'docs/concepts.md',
  name: 'lifecycle',
  render: () =>
    table(
      ['Status', 'Means', 'Commands that lead on', 'Commands that keep it', 'Forbids'],
      [...statuses.map(row), ...restrictions],
    ).join('\n'),
};
