import { z } from 'zod';
import { type Context, defineCommand } from '../../parse/command.ts';
import { handoffText } from '../../render/handoff-text.ts';
import { ago } from '../../render/time.ts';
import { wrapCommand } from '../../render/wrap-command.ts';
import { AsksView, type OpenAsks, openAsks } from '../../runs/open-asks.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const toType = (command: string, { columns }: Terminal): readonly string[] => wrapCommand(command, columns, '    ');

const linesOf = (
  { out, now, commandText }: Context,
  { session, approvals, questions, handoff }: OpenAsks,
): readonly string[] => [
  out.style('bold', session),
  ...approvals.flatMap(({ approval, summary, at, taintedBy }) => [
    ...hangingIndent('  ', printableLine(`${summary}, asked ${ago(at, now())}`), out.columns),
    ...(taintedBy ? toType(commandText('taint', session), out) : []),
    ...toType(commandText('approve', approval), out),
    ...(taintedBy ? toType(commandText('approve', approval, '--for-source'), out) : []),
    ...toType(commandText('deny', approval, '--comment', 'WHY'), out),
  ]),
  ...questions.flatMap(({ question, callId }) => [
    ...hangingIndent('  ', printableLine(question), out.columns),
    ...toType(commandText('answer', session, callId, 'TEXT'), out),
  ]),
  ...(handoff
    ? [
        ...hangingIndent('  ', handoffText(handoff, now()), out.columns),
        ...toType(commandText('handoff', session, '--to', 'agent', '--reason', 'WHY'), out),
      ]
    : []),
];

export const approvals = defineCommand({
  name: 'approvals',
  summary: 'list what is waiting for a person: approvals, questions and sessions handed to people',
  args: ['[SESSION]'],
  options: {},
  notes: ['Without SESSION, it looks at the 1000 sessions that changed last.'],
  examples: ['perdure approvals', 'perdure approvals ses_… --json'],
  json: z.strictObject({ sessions: z.array(AsksView) }),
  run: async (context, { args: [named] }) => {
    const only = named === undefined ? undefined : await context.session(named);
    const all = await Array.fromAsync(openAsks(await context.sessions(), only));
    const open = all.filter(
      ({ approvals: asked, questions, handoff }) => handoff || asked.length + questions.length > 0,
    );
    await context.answer({ sessions: open }, () =>
      open.length > 0 ? open.flatMap((each) => linesOf(context, each)) : 'nothing is waiting for a person',
    );
    return undefined;
  },
});
