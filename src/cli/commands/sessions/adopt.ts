import type { Adoption } from '../../../core/sessions/adopt.ts';
import { AdoptionView } from '../../../schema/views/session.ts';
import { changedFileText } from '../../files/file-text.ts';
import { checkSessionName } from '../../names/find-session.ts';
import { choice, defineCommand, text } from '../../parse/command.ts';
import { changedValues, valueText } from '../../render/entry-text.ts';
import { happenedLines } from '../../render/happened-lines.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const choices = ['ours', 'theirs', 'fail'] as const;
type Choice = (typeof choices)[number];

const sides = (ours: unknown, theirs: unknown): readonly string[] =>
  ours === undefined || theirs === undefined
    ? [ours, theirs].map((value) => (value === undefined ? '(none)' : valueText(value)))
    : changedValues(ours, theirs);

const conflictLines = (
  { path, ours, theirs }: Adoption['conflicts'][number],
  taken: Choice,
  out: Terminal,
): readonly string[] => {
  const [here, there] = sides(ours, theirs);
  return [
    ...hangingIndent(
      '  ! ',
      `${printableLine(path)}: ${taken === 'theirs' ? 'theirs was taken' : 'ours was kept'}`,
      out.columns,
      `  ${out.style('yellow', '!')} `,
    ),
    ...hangingIndent('    ours:   ', here!, out.columns),
    ...hangingIndent('    theirs: ', there!, out.columns),
  ];
};

const isFile = (path: string): boolean => path.startsWith('/filesModified/');

const fileLines = ({ changes, conflicts }: Adoption['files'], taken: Choice, out: Terminal): readonly string[] => [
  ...(changes.length > 0 ? [out.style('bold', 'files')] : []),
  ...changes.flatMap((each) => hangingIndent('  ', changedFileText(each), out.columns)),
  ...(conflicts.length > 0 ? [out.style('bold', 'files that both sides changed')] : []),
  ...conflicts.flatMap((path) => {
    const text = `${printableLine(path)}: ${taken === 'theirs' ? 'theirs was taken' : 'ours was kept'}`;
    return hangingIndent('  ! ', text, out.columns, `  ${out.style('yellow', '!')} `);
  }),
];

/** What an adoption changed, and what both sides had changed. */
export const adoptionLines = (adoption: Adoption, taken: Choice, out: Terminal): readonly string[] => {
  const { adopted, conflicts, commit, files, happened } = adoption;
  const entries = files.changes.length > 0 ? adopted.filter((path) => !isFile(path)) : adopted;
  return [
    commit ? `adopted with event ${commit.seq}` : 'there is nothing to adopt',
    ...entries.flatMap((path) =>
      hangingIndent('  + ', printableLine(path), out.columns, `  ${out.style('green', '+')} `),
    ),
    ...(conflicts.length > 0 ? [out.style('bold', 'changed on both sides')] : []),
    ...conflicts.flatMap((conflict) => conflictLines(conflict, taken, out)),
    ...fileLines(files, taken, out),
    ...happenedLines('in the branch, and not undone', happened, out),
  ];
};

export const adopt = defineCommand({
  name: 'adopt',
  summary: 'bring in what another branch of the same tree changed in its state and files',
  args: ['SESSION', 'BRANCH'],
  options: {
    'on-conflict': choice(
      'SIDE',
      choices,
      'where both changed the same thing: keep ours (default), take theirs, or fail',
    ),
    why: text('TEXT', 'why, for the log'),
  },
  examples: ['perdure adopt ses_… ses_…', 'perdure adopt ses_… ses_… --on-conflict theirs'],
  json: AdoptionView,
  run: async (context, { args: [named, branch], options }) => {
    const onConflict = options['on-conflict'] ?? 'ours';
    checkSessionName(branch!);
    const session = await context.session(named!);
    const adoption = await session.adopt(await context.sessionId(branch!), { onConflict, why: options.why });
    await context.answer(adoption, () => adoptionLines(adoption, onConflict, context.out));
  },
});
