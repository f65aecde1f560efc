import { TaintReport, type TaintSource } from '../../../schema/taint.ts';
import { type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { ago } from '../../render/time.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';

const sourceLine = ({ tool, session, seq, turn, callId }: TaintSource): string => {
  if (seq === undefined) return `${tool}: the description of its tools`;
  return `${tool}: event ${seq} of ${session}, turn ${turn}${callId === undefined ? '' : `, ${callId}`}`;
};

const linesOf = ({ out, now }: Context, report: TaintReport): readonly string[] => {
  const { tainted, sources, more, files, allowed, cleared } = report;
  const lines = [
    tainted ? 'data from outside is in the context, first by' : 'the context is not tainted',
    ...sources.map((source) => `  ${sourceLine(source)}`),
    ...(more > 0 ? [`  and ${count(more, 'further result')}`] : []),
    ...(files.all ? ['every file taints the context that reads it'] : []),
    ...(files.paths.length > 0 ? [`${count(files.paths.length, 'path')} that taint the context that reads them`] : []),
    ...files.paths.map((path) => `  ${path}`),
    ...Object.entries(allowed).map(([tool, names]) => `allowed for ${names.join(', ')}: ${tool}`),
    ...(cleared ? [`cleared ${ago(cleared.at, now())} by ${cleared.by}: ${cleared.reason}`] : []),
  ];
  return lines.flatMap((line) => hangingIndent(/^ */.exec(line)![0], printableLine(line.trimStart()), out.columns));
};

export const taint = defineCommand({
  name: 'taint',
  summary: 'show what brought data from outside into a session',
  args: ['SESSION'],
  options: {},
  notes: [
    'While a session is tainted, `once` tools wait for an approval, unless their agent or their author says otherwise.',
  ],
  examples: ['perdure taint ses_…', 'perdure taint ses_… --json'],
  json: TaintReport,
  run: async (context, { args: [named] }) => {
    const session = await context.session(named!);
    const report = await session.taint();
    await context.answer(report, () => linesOf(context, report));
  },
});

export const taintClear = defineCommand({
  name: 'taint clear',
  summary: 'vouch for what a session holds, so that its tools run again by themselves',
  args: ['SESSION'],
  options: {
    why: text('TEXT', 'why the content can be trusted, for the log; required'),
    'with-files': flag('vouch also for the files that were written while it was tainted'),
    at: text('SEQ', 'fail if data from outside came in after this event'),
  },
  notes: ['It needs the role approver, and is audited. Read the results first: `perdure taint SESSION` names them.'],
  examples: [`perdure taint clear ses_… --why 'the page is our own wiki'`],
  json: TaintReport,
  run: async (context, { args: [named], options: { why, 'with-files': files, at } }) => {
    if (!why) throw wrongCall('taint clear needs --why TEXT: the log says why the content can be trusted');
    const seq = parseCount('--at', at, 1);
    const session = await context.session(named!);
    const before = await session.clearTaint({ reason: why, ...(files && { files }), ...(seq && { at: seq }) });
    const names = before.sources.map(({ tool }) => tool).join(', ');
    await context.answer(before, () =>
      hangingIndent(
        '',
        printableLine(names ? `cleared of ${names}` : 'the context was not tainted'),
        context.out.columns,
      ),
    );
    return undefined;
  },
});
