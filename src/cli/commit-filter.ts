import type { CommitFilter } from '../core/service/commits.ts';
import { Pointer, Provenance, pointerOf, provenances } from '../schema/state.ts';
import { flag, text, type Values } from './command.ts';
import { parseMoment, parseTurns } from './moment.ts';
import { parseCount } from './point.ts';
import { wrongCall } from './wrong-call.ts';

export const commitOptions = {
  commits: flag('list commits of the state instead of events; so do all options below'),
  path: text('PATTERN', 'only what touched /facts/port, /plan/*/status or /filesModified/**'),
  file: text('FILE', 'only what touched this file'),
  tool: text('TOOL', 'only what this tool did'),
  actor: text('ACTOR', 'only what this actor did, such as member:local'),
  provenance: text('LEVEL', `only ${provenances.join(', ')}; several with commas between`),
  turns: text('A-B', 'only turns from A to B'),
  last: text('N', 'only the last N turns'),
  since: text('WHEN', 'not before a date, or so long ago: 7d, 24h'),
  until: text('WHEN', 'not after a date, or so long ago'),
  'include-rewound': flag('also what rewinds left behind'),
  all: flag('of all sessions of the workspace'),
} as const;

type CommitValues = Values<typeof commitOptions>;

const ofOneSession = ['turns', 'last', 'include-rewound'] as const;

export const asksForCommits = (options: CommitValues): boolean =>
  Object.keys(commitOptions).some((name) => options[name as keyof CommitValues] !== undefined);

export const parsePath = (path: string): string => {
  const parsed = Pointer.min(1).safeParse(path);
  if (parsed.success) return parsed.data;
  throw wrongCall(`--path is a JSON Pointer such as /facts/port (~1 stands for a slash in a name); got "${path}"`);
};

const pathOf = ({ path, file }: CommitValues): string | undefined => {
  if (path !== undefined && file !== undefined) throw wrongCall('--file is a --path of its own: leave out one of them');
  if (file !== undefined) return pointerOf('filesModified', file);
  return path === undefined ? undefined : parsePath(path);
};

export const parseProvenance = (level: string): Provenance => {
  const parsed = Provenance.safeParse(level);
  if (parsed.success) return parsed.data;
  throw wrongCall(`--provenance is ${provenances.join(', ')}; got "${level}"`);
};

const windowOf = ({ turns, last, since, until }: CommitValues, now: number): CommitFilter => {
  if (turns !== undefined && last !== undefined) throw wrongCall('--last counts from the end: leave out --turns');
  const lastTurns = parseCount('--last', last, 1);
  return {
    turns: parseTurns('--turns', turns),
    ...(lastTurns !== undefined && { last: { turns: lastTurns } }),
    since: parseMoment('--since', since, now),
    until: parseMoment('--until', until, now),
  };
};

export const commitFilterOf = (options: CommitValues, now: number): CommitFilter => {
  const { all, tool, actor, provenance } = options;
  const turnOption = ofOneSession.find((name) => options[name] !== undefined);
  if (all && turnOption) throw wrongCall(`--${turnOption} is about one session: name it instead of --all`);
  return {
    path: pathOf(options),
    tool,
    actor,
    provenance: provenance?.split(',').map((level) => parseProvenance(level.trim())),
    ...windowOf(options, now),
    includeRewound: options['include-rewound'],
  };
};
