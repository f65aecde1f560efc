import type { FilesDiff } from '../../../core/session-files/compare-files.ts';
import type { FileVersion } from '../../../core/session-files/file-history.ts';
import type { ListedFile } from '../../../core/session-files/read-files.ts';
import { FileHistoryView, FilesDiffView, FilesView } from '../../../schema/views/files.ts';
import { ContentView, writeContent } from '../../files/content.ts';
import { changedFileText } from '../../files/file-text.ts';
import { setAsideOption, whereOf } from '../../files/where.ts';
import { parsePlace, placeIn } from '../../names/place.ts';
import { type Command, type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { optionalPoint, parseCount } from '../../parse/point.ts';
import { count } from '../../render/quantity.ts';
import { renderUnified } from '../../render/render-unified.ts';
import { reasonText } from '../../render/said-text.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, isoTime } from '../../render/time.ts';
import { truncate } from '../../terminal/display-width.ts';
import { printable, printableLine } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const options = {
  at: text('POINT', 'as they were at turn:3 (or just 3), seq:17, or turn:5#1 for an attempt'),
  'set-aside': setAsideOption,
};

const fileColumns: readonly Column[] = [
  { title: 'MODE', align: 'right', leaves: 1 },
  { title: 'SIZE', align: 'right' },
  { title: 'PATH', flexible: true, whole: true },
];

const fileCells = (file: ListedFile): readonly string[] => {
  if (file.kind === 'link') return ['link', '', `${printable(file.path)} → ${printable(file.target)}`];
  const mode = file.mode.toString(8).padStart(4, '0');
  return file.kind === 'folder' ? [mode, '', `${printable(file.path)}/`] : [mode, `${file.size}`, printable(file.path)];
};

const ls = defineCommand({
  name: 'files ls',
  summary: 'list the files of a session, now or at a point',
  args: ['SESSION', '[PATH]'],
  options,
  examples: ['perdure files ls ses_…', 'perdure files ls ses_… src --at turn:3'],
  json: FilesView,
  run: async (context, { args: [named, path], options: given }) => {
    const where = whereOf(given);
    const files = await (await context.session(named!)).files.list({ ...where, path });
    const { out } = context;
    await context.answer({ files }, () =>
      files.length > 0
        ? layOutTable(fileColumns, files.map(fileCells), out.columns, (cell, _, row) =>
            row < 0 ? out.style('dim', cell) : cell,
          )
        : 'there are no files: `perdure files put` writes one',
    );
  },
});

const cat = defineCommand({
  name: 'files cat',
  summary: 'write a file of a session to stdout',
  args: ['SESSION', 'PATH'],
  options,
  examples: ['perdure files cat ses_… src/main.ts', 'perdure files cat ses_… data.json --at turn:3 | jq .'],
  json: ContentView,
  run: async (context, { args: [named, path], options: given }) => {
    const where = whereOf(given);
    const bytes = await (await context.session(named!)).files.read(path!, where);
    await writeContent(context, path!, bytes, 'use `perdure files get`');
  },
});

const diffLines = ({ unified, files }: FilesDiff, out: Terminal): readonly string[] => {
  if (files.length === 0) return ['no difference'];
  if (unified === '') return [`${count(files.length, 'folder')} changed, no file`];
  return renderUnified(unified, out);
};

/** Writes a diff. A pipe gets the exact patch, which `git apply` accepts. */
const writeDiff = async (context: Context, diff: FilesDiff): Promise<void> => {
  if (context.json || context.out.isTerminal) return context.answer(diff, () => diffLines(diff, context.out));
  await context.out.write(diff.unified);
};

const diff = defineCommand({
  name: 'files diff',
  summary: 'show how files differ between two places, in the format of git',
  args: ['SESSION', 'FROM', '[TO]'],
  options: {},
  notes: [
    'A place is turn:3 (or just 3), seq:17, turn:5#2 for the second attempt at turn 5, ses_… for where another session is now, or ses_…@turn:3. TO is now by default.',
  ],
  examples: ['perdure files diff ses_… 3', 'perdure files diff ses_… 3 ses_… | git apply'],
  json: FilesDiffView,
  run: async (context, { args: [named, from, to] }) => {
    const [a, b] = [parsePlace(from!), to === undefined ? undefined : parsePlace(to)];
    const session = await context.session(named!);
    const [since, until] = [await placeIn(context, a), b && (await placeIn(context, b))];
    const found = await withProgress(
      context.err,
      () => 'comparing files',
      () => session.files.diff(since, until ?? { session: session.id }),
    );
    await writeDiff(context, found);
  },
});

const historyColumns: readonly Column[] = [
  { title: 'SEQ', align: 'right', leaves: 1 },
  { title: 'TIME', align: 'right', leaves: 2 },
  { title: 'TURN', align: 'right' },
  { title: 'BY', leaves: 3 },
  { title: 'CHANGE', flexible: true },
];
const maxName = 24;

const historyTable = (versions: readonly FileVersion[], { out, now }: Context): readonly string[] => {
  const moment = now();
  const time = out.isTerminal ? (when: number) => age(when, moment) : isoTime;
  const by = out.isTerminal ? (name: string) => truncate(name, maxName) : (name: string) => name;
  const rows = versions.map((each) => [
    String(each.seq),
    time(each.at),
    String(each.turn),
    by(printableLine(each.cause ? `tool:${each.cause.tool}` : each.actor)),
    [changedFileText(each), reasonText(each)].filter(Boolean).join(': '),
  ]);
  return layOutTable(historyColumns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

const history = defineCommand({
  name: 'files history',
  summary: 'list the changes of a file, newest first: who, in which turn, and why',
  args: ['SESSION', 'PATH'],
  options: {
    at: text('POINT', 'only changes up to turn:3 (or just 3), seq:17, or turn:5#1 for an attempt'),
    limit: text('N', 'at most N; default 100'),
    'include-rewound': flag('include what rewinds left behind'),
  },
  notes: ['If the file was renamed, the list goes on under its earlier name.'],
  examples: ['perdure files history ses_… src/main.ts', 'perdure files history ses_… src/main.ts --at turn:3'],
  json: FileHistoryView,
  run: async (context, { args: [named, path], options }) => {
    const limit = parseCount('--limit', options.limit, 1);
    const at = optionalPoint(options.at);
    const session = await context.session(named!);
    const versions = await session.files.history(path!, { at, limit, includeRewound: options['include-rewound'] });
    await context.answer({ versions }, () =>
      versions.length > 0 ? historyTable(versions, context) : `no changes of ${printable(path!)} are known`,
    );
  },
});

export const filesReading: readonly Command[] = [ls, cat, diff, history];
