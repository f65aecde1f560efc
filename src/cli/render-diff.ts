import type { SessionDiff } from '../core/service/diff.ts';
import { type ChangeText, changeText, type EntryChange } from './change-text.ts';
import { wrap } from './display-width.ts';
import { type Part, parts, titleOf } from './entry-text.ts';
import { hanging } from './hanging.ts';
import type { Style, Terminal } from './terminal.ts';

const signStyle: Readonly<Record<ChangeText['sign'], Style>> = { '+': 'green', '-': 'red', '~': 'yellow' };
const indent = '    ';

const changeLines = ({ sign, line, why }: ChangeText, out: Terminal): readonly string[] => [
  ...hanging(`  ${sign} `, line, out.columns, `  ${out.style(signStyle[sign], sign)} `),
  ...(why ? hanging(`${indent}why: `, why, out.columns, `${indent}${out.style('dim', 'why:')} `) : []),
];

const headline = ({ from, to }: SessionDiff, { columns }: Terminal): readonly string[] =>
  wrap(
    from.session === to.session
      ? `${from.session} from seq:${from.seq} to seq:${to.seq}`
      : `from ${from.session}@seq:${from.seq} to ${to.session}@seq:${to.seq}`,
    columns,
  );

const section = <P extends Part>(diff: SessionDiff, part: P, out: Terminal): readonly string[] => {
  const changes = diff[part] as unknown as readonly EntryChange<P>[];
  if (changes.length === 0) return [];
  return [out.style('bold', titleOf[part]), ...changes.flatMap((each) => changeLines(changeText(part, each), out))];
};

/** What was decided, learnt, planned and changed between two places, for people. */
export const renderDiff = (diff: SessionDiff, out: Terminal): readonly string[] => {
  const sections = parts.flatMap((part) => section(diff, part, out));
  return [
    ...headline(diff, out).map((line) => out.style('dim', line)),
    ...(sections.length > 0 ? sections : ['no difference']),
  ];
};
