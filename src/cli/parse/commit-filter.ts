import type { CommitFilter } from '../../core/state/record-filter.ts';
import { PathPattern } from '../../schema/path-pattern.ts';
import { pointerOf } from '../../schema/pointer.ts';
import { Pointer, Provenance, provenances } from '../../schema/state.ts';
import { flag, text, type Values } from './command.ts';
import { parseWindow, windowOptions } from './record-window.ts';
import { wrongCall } from './wrong-call.ts';

export const commitOptions = {
  commits: flag('list commits of the state instead of events; every option below implies this'),
  path: text('PATTERN', 'only what touched /facts/port, /plan/*/status or /filesModified/src~1*'),
  file: text('FILE', 'only what touched this file'),
  tool: text('TOOL', 'only what this tool did'),
  actor: text('ACTOR', 'only what this actor did, such as member:local'),
  provenance: text('LEVEL', `only ${provenances.join(', ')}; separate several with commas`),
  ...windowOptions,
  cursor: text('CURSOR', 'continue with older commits from this cursor, given by an earlier answer'),
  all: flag('search all sessions of the workspace'),
} as const;

type CommitValues = Values<typeof commitOptions>;

export const asksForCommits = (options: CommitValues): boolean =>
  Object.keys(commitOptions).some((name) => options[name as keyof CommitValues] !== undefined);

export const parsePath = (path: string): string => {
  const parsed = Pointer.min(1).safeParse(path);
  if (parsed.success) return parsed.data;
  throw wrongCall(`--path is a JSON Pointer such as /facts/port (~1 stands for a slash in a name); got "${path}"`);
};

const parsePattern = (path: string): string => {
  const parsed = PathPattern.safeParse(parsePath(path));
  if (parsed.success) return parsed.data;
  throw wrongCall(`--path ${path}: ${parsed.error.issues[0]?.message}`);
};

const pathOf = ({ path, file }: CommitValues): string | undefined => {
  if (path !== undefined && file !== undefined) throw wrongCall('--file is a kind of --path: leave out one of them');
  if (file !== undefined) return pointerOf('filesModified', file);
  return path === undefined ? undefined : parsePattern(path);
};

export const parseProvenance = (level: string): Provenance => {
  const parsed = Provenance.safeParse(level);
  if (parsed.success) return parsed.data;
  throw wrongCall(`--provenance is ${provenances.join(', ')}; got "${level}"`);
};

export const commitFilterOf = (options: CommitValues, now: number): CommitFilter => {
  const { all = false, tool, actor, provenance } = options;
  return {
    path: pathOf(options),
    tool,
    actor,
    provenance: provenance?.split(',').map((level) => parseProvenance(level.trim())),
    ...parseWindow(options, { now, isOneSession: !all }),
  };
};
