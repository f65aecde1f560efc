import { z } from 'zod';
import type { RestoredFiles } from '../../../core/session-files/restore-files.ts';
import { RestoredFilesView, WrittenFileView } from '../../../schema/views/files.ts';
import { readGiven } from '../../files/content.ts';
import { setAsideOption, whereOf } from '../../files/where.ts';
import { parsePlace, placeIn } from '../../names/place.ts';
import { type Command, type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printable } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';
import { linesText, type Terminal } from '../../terminal/terminal.ts';

const modeOf = (digits: string | undefined): number | undefined => {
  if (digits === undefined) return undefined;
  if (/^0?[0-7]{3}$/.test(digits)) return Number.parseInt(digits, 8);
  throw wrongCall(`--mode is octal, such as 644 or 755; got "${digits}"`);
};

const expectedOf = (hash: string | undefined): string | null | undefined => (hash === 'none' ? null : hash);

const put = defineCommand({
  name: 'files put',
  summary: 'write a file of a session, from a file here or from stdin',
  args: ['SESSION', 'PATH', 'FILE'],
  options: {
    mode: text('MODE', 'octal; default 755 if FILE is executable, else as before, or 644 for a new file'),
    expect: text('HASH', 'only if the file has this hash, as in `files ls --json`; none means no file'),
    why: text('TEXT', 'why, for the log'),
    key: text('KEY', 'idempotency key: repeating the write with the same key writes nothing'),
  },
  notes: ['If FILE is -, it is read from stdin. The next tool of a run finds it in the worktree.'],
  examples: ['perdure files put ses_… src/main.ts main.ts', 'date | perdure files put ses_… now.txt - --why test'],
  json: WrittenFileView,
  run: async (context, { args: [named, path, file], options: { mode, expect, why, key } }) => {
    const wanted = modeOf(mode);
    const { bytes, isExecutable } = await readGiven(context, file!);
    const session = await context.session(named!);
    const written = await session.files.write(path!, bytes, {
      mode: wanted ?? (isExecutable ? 0o755 : undefined),
      expect: expectedOf(expect),
      why,
      ...(key !== undefined && { idempotencyKey: key }),
    });
    await context.answer(written, () =>
      written.seq === undefined
        ? `${printable(written.path)} is already like that`
        : `${printable(written.path)}  ${count(written.size, 'byte')}, event ${written.seq}`,
    );
  },
});

const get = defineCommand({
  name: 'files get',
  summary: 'copy files of a session into a new or empty folder here',
  args: ['SESSION', '[PATH]'],
  options: {
    to: text('FOLDER', 'where to; required'),
    at: text('POINT', 'as they were at turn:3 (or just 3), seq:17, or turn:5#1 for an attempt'),
    'set-aside': setAsideOption,
  },
  notes: ['PATH is copied to the same path below FOLDER; without PATH, everything is.'],
  examples: ['perdure files get ses_… --to work', 'perdure files get ses_… src --at turn:3 --to before'],
  json: z.strictObject({ folder: z.string(), files: z.int() }),
  run: async (context, { args: [named, path], options: { to, ...given } }) => {
    if (to === undefined) throw wrongCall('files get needs --to FOLDER: see `perdure help files get`');
    const where = whereOf(given);
    const session = await context.session(named!);
    const copied = await withProgress(
      context.err,
      () => `copying to ${printable(to)}`,
      () =>
        context.server === undefined
          ? session.files.copyTo(to, { ...where, path })
          : import('../../files/copy-here.ts').then(({ copyHere }) => copyHere(session, to, { ...where, path })),
    );
    await context.answer(copied, () => `${printable(copied.folder)}  ${count(copied.files, 'file')}`);
  },
});

const changeText = (each: RestoredFiles['changes'][number]): string => {
  const entry = 'after' in each ? each.after : each.before;
  const path = `${printable(each.path)}${entry.kind === 'folder' ? '/' : ''}`;
  return each.change === 'renamed' ? `renamed ${printable(each.from)} → ${path}` : `${each.change} ${path}`;
};

const maxShown = 200;

const changeLines = ({ changes }: RestoredFiles, out: Terminal): readonly string[] => {
  const more = changes.length - maxShown;
  return [
    ...changes.slice(0, maxShown).flatMap((each) => hangingIndent('  ', changeText(each), out.columns)),
    ...(more > 0 ? [`  and ${more} more: --json lists them all`] : []),
  ];
};

/** Whether a restore may proceed. Asks the person before it changes their own folder. */
const isAllowed = async (context: Context, plan: RestoredFiles, isSure: boolean): Promise<boolean> => {
  if (!plan.boundTo || isSure) return true;
  const { path, machine } = plan.boundTo;
  const where = `${printable(path)} on ${printable(machine)}`;
  const person = context.person();
  if (!person?.isTerminal) {
    throw wrongCall(
      `this session works in ${where}, and would change a person's own files: pass --yes if that is all right`,
    );
  }
  try {
    await context.err.write(linesText([`in ${where}`, ...changeLines(plan, context.err)]));
    person.prompt('change these files? [y / n] ');
    return /^\s*y(es)?\s*$/i.test((await person.nextLine()) ?? '');
  } finally {
    person.close();
  }
};

const restore = defineCommand({
  name: 'files restore',
  summary: 'restore the files of a session, or some of them, to what they were at a place',
  args: ['SESSION', 'PLACE', '[PATH…]'],
  options: {
    'dry-run': flag('only show what would change'),
    yes: flag(`do not ask before changing a person's own folder`),
    why: text('TEXT', 'why, for the log'),
  },
  notes: [
    'A PLACE is turn:3 (or just 3), seq:17, turn:5#1 for the first attempt at turn 5, ses_… for where another session is now, or ses_…@turn:3. Nothing is erased: the current files stay in the log.',
  ],
  examples: ['perdure files restore ses_… 3 --dry-run', 'perdure files restore ses_… seq:17 src/main.ts'],
  json: RestoredFilesView,
  run: async (context, { args: [named, place, ...paths], options }) => {
    const parsed = parsePlace(place!);
    const session = await context.session(named!);
    const to = await placeIn(context, parsed);
    const about = paths.length > 0 ? { paths } : {};
    const plan = await withProgress(
      context.err,
      () => 'comparing files',
      () => session.files.restore(to, { ...about, dryRun: true }),
    );
    const report = (title: string, done: RestoredFiles) =>
      context.answer(done, () =>
        done.changes.length > 0 ? [title, ...changeLines(done, context.out)] : 'there is nothing to change',
      );
    if (options['dry-run'] || plan.changes.length === 0) {
      await report('would change', plan);
      return undefined;
    }
    if (!(await isAllowed(context, plan, options.yes ?? false))) {
      await context.note('nothing was changed');
      return 'failure';
    }
    const done = await session.files.restore(to, { ...about, why: options.why });
    await report(done.seq === undefined ? 'nothing changed' : `restored with event ${done.seq}`, done);
    return undefined;
  },
});

export const filesWriting: readonly Command[] = [restore, put, get];
