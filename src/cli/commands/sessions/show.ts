import { z } from 'zod';
import type { SessionUsage } from '../../../core/runs/usage.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { SummaryView, TranscriptView, UsageView } from '../../../schema/views/session.ts';
import { omitForbidden } from '../../backing/omit-forbidden.ts';
import { type Context, defineCommand, text } from '../../parse/command.ts';
import { optionalPoint, parseCount, pointName } from '../../parse/point.ts';
import { handoffText } from '../../render/handoff-text.ts';
import { count } from '../../render/quantity.ts';
import { renderTranscript } from '../../render/render-transcript.ts';
import { ago } from '../../render/time.ts';
import { usageLine } from '../../render/usage-text.ts';
import { lastFailure } from '../../runs/last-failure.ts';
import { truncate, wrap } from '../../terminal/display-width.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { paintStatus } from '../../terminal/paint.ts';
import { printableJson, printableLine } from '../../terminal/printable.ts';

interface Shown {
  readonly summary: SessionSummary;
  readonly waitingInputs: number;
  /** Absent if the key lacks the area `usage`. */
  readonly usage?: SessionUsage | undefined;
}

const heldLines = ({ id, handoff }: SessionSummary, { out, now, commandText }: Context): readonly string[] => {
  if (!handoff) return [];
  const back = `to hand it back: ${commandText('handoff', id, '--to', 'agent', '--reason', 'WHY')}`;
  return [handoffText(handoff, now()), back].flatMap((line) => hangingIndent('', line, out.columns));
};

const heading = ({ summary, waitingInputs: inputs, usage }: Shown, context: Context): readonly string[] => {
  const { out, now, commandText } = context;
  const { id, title, status, turn, messages, seq, createdAt, updatedAt, parent, forkedAt, metadata, waiting, handoff } =
    summary;
  const at = now();
  const used = usage && usageLine(usage);
  const counts = [
    `turn ${turn}`,
    count(messages, 'message'),
    count(seq, 'event'),
    `opened ${ago(createdAt, at)}`,
    `changed ${ago(updatedAt, at)}`,
  ];
  return [
    out.style('bold', printableLine(id)),
    ...(title ? wrap(printableLine(title), out.columns) : []),
    ...hangingIndent(`${printableLine(status)} · `, counts.join(' · '), out.columns, `${paintStatus(status, out)} · `),
    ...heldLines(summary, context),
    ...(waiting && !handoff
      ? hangingIndent('', `waits for ${waiting}: ${commandText('attach', id)}`, out.columns)
      : []),
    ...(inputs > 0 ? [`${count(inputs, 'input')} ${inputs === 1 ? 'waits' : 'wait'}`] : []),
    ...(used ? wrap(used, out.columns) : []),
    ...(parent ? wrap(`forked from ${printableLine(parent)} at seq:${forkedAt}`, out.columns) : []),
    ...(metadata ? [truncate(`metadata ${printableJson(metadata)}`, out.columns)] : []),
  ];
};

export const show = defineCommand({
  name: 'show',
  summary: 'show what a session is about and its transcript',
  args: ['SESSION'],
  options: {
    at: text('POINT', 'the transcript as it was at turn:3 (or just 3), or at seq:17'),
    last: text('N', 'only the last N turns'),
  },
  examples: ['perdure show ses_…', 'perdure show ses_… --last 2', 'perdure show ses_… --at turn:3'],
  needsNoAgents: true,
  json: z.strictObject({
    summary: SummaryView,
    waitingInputs: z.int().nonnegative(),
    usage: UsageView.optional(),
    transcript: TranscriptView.shape.entries,
  }),
  run: async (context, { args, options }) => {
    const at = optionalPoint(options.at);
    const lastTurns = parseCount('--last', options.last, 1);
    const session = await context.session(args[0]!);
    const [summary, transcript] = [await session.summary(), await session.transcript({ at, lastTurns })];
    const waitingInputs = (await session.inputs()).length;
    const usage = await omitForbidden(session.usage());
    const shown = { summary, waitingInputs, ...(usage && { usage }) };
    const failure = context.json ? undefined : await lastFailure(session, summary.seq);
    await context.answer({ ...shown, transcript }, () => [
      ...heading(shown, context),
      ...(failure ? wrap(failure, context.out.columns).map((line) => context.out.style('red', line)) : []),
      ...(at ? [context.out.style('bold', `the transcript at ${pointName(at)}`)] : []),
      ...(transcript.length === 0 ? ['no messages'] : renderTranscript(transcript, context.out)),
    ]);
  },
});
