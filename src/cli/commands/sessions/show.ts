import { z } from 'zod';
import type { TranscriptOptions, TranscriptPage } from '../../../core/context/transcript.ts';
import type { SessionUsage } from '../../../core/runs/usage.ts';
import type { Session } from '../../../core/runtime/session.ts';
import type { TurnAttempt } from '../../../core/sessions/attempts.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { DamageView } from '../../../schema/views/maintenance.ts';
import { AttemptsView, SummaryView, TranscriptView } from '../../../schema/views/session.ts';
import { UsageView } from '../../../schema/views/usage.ts';
import { omitForbidden } from '../../backing/omit-forbidden.ts';
import { unlessDamaged } from '../../backing/unless-damaged.ts';
import { nameOf } from '../../config/choose-agent.ts';
import { type Context, defineCommand, text } from '../../parse/command.ts';
import { optionalPoint, parseCount, pointName } from '../../parse/point.ts';
import { damageLines } from '../../render/damage-text.ts';
import { handoffText } from '../../render/handoff-text.ts';
import { noteOlder } from '../../render/note-older.ts';
import { count } from '../../render/quantity.ts';
import { renderTranscript } from '../../render/render-transcript.ts';
import { sessionName } from '../../render/session-name.ts';
import { ago, isoTime } from '../../render/time.ts';
import { usageLine } from '../../render/usage-text.ts';
import { lastFailure } from '../../runs/last-failure.ts';
import { truncate, wrap } from '../../terminal/display-width.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { paintSummary, statusText } from '../../terminal/paint.ts';
import { printableJson, printableLine } from '../../terminal/printable.ts';

interface Shown {
  readonly summary: SessionSummary;
  readonly waitingInputs: number;
  /** The tools of the agent, or those that its last run had. Absent if neither is known. */
  readonly tools?: readonly string[] | undefined;
  /** The attempts at the turns that were retried last. Absent if no turn was. */
  readonly attempts?: readonly TurnAttempt[] | undefined;
  /** Absent if the key lacks the area `usage`. */
  readonly usage?: SessionUsage | undefined;
}

const waitLine = ({ waiting, waitsUntil }: SessionSummary, next: string): string =>
  `waits for ${waiting}${waitsUntil === undefined ? '' : ` until ${isoTime(waitsUntil)}, then continues by itself`}: ${next}`;

/** Number of runs that are searched for the tools of the agent. The newest ones may not have begun. */
const newestRuns = 20;

/** The holder of the session, its agent and the agent's tools, as one line. */
const workers = ({ agent, holder }: SessionSummary, tools: Shown['tools']): string => {
  const held = holder === 'human' ? 'held by a person' : agent ? 'held by its agent' : 'driven by your own loop';
  const offered = tools && `tools: ${tools.map(printableLine).join(', ') || 'none'}`;
  return [
    ...(agent ? [`agent ${printableLine(nameOf(agent))}`] : ['no agent']),
    held,
    ...(offered ? [offered] : []),
  ].join(' · ');
};

/** The tools of the session's agent as it is configured here, or else those of its last run. */
const toolsOf = async (context: Context, session: Session, { agent }: SessionSummary): Promise<Shown['tools']> => {
  if (!agent) return undefined;
  const listed = await omitForbidden((async () => (await context.runtime()).agents.list())());
  const here = listed?.find((each) => nameOf(each) === nameOf(agent));
  if (here) return here.tools.map(({ name }) => name);
  return (await session.runs({ limit: newestRuns })).runs.find((run) => run.tools)?.tools;
};

const damageNotes = ({ id, damaged, lost }: SessionSummary, commandText: Context['commandText']): readonly string[] => [
  ...(damaged
    ? [
        `quarantined: event ${damaged.seq} is damaged, so it ends at event ${damaged.seq - 1}; it continues as a fork: ${commandText('repair', id)}`,
      ]
    : []),
  ...(lost ? [`continues ${lost.session}, whose events ${lost.from} to ${lost.to} are damaged and lost`] : []),
];

/** The transcript. If the newest events cannot be read, the transcript up to the damage, with the damage. */
const readTranscript = async (session: Session, options: TranscriptOptions) => {
  const page = await unlessDamaged(session.transcript(options), undefined);
  if (page) return { page };
  const damage = options.at ? undefined : await session.damage();
  if (!damage) return { page: await session.transcript(options) };
  const at = { seq: damage.good };
  const readable: TranscriptPage = damage.good > 0 ? await session.transcript({ ...options, at }) : { entries: [] };
  return { page: readable, damage };
};

const heldLines = ({ id, handoff }: SessionSummary, { out, now, commandText }: Context): readonly string[] => {
  if (!handoff) return [];
  const back = `to hand it back: ${commandText('handoff', id, '--to', 'agent', '--reason', 'WHY')}`;
  return [handoffText(handoff, now()), back].flatMap((line) => hangingIndent('', line, out.columns));
};

const shownAttempts = 20;

/** The attempts at each retried turn, named so that other commands accept them. */
const attemptLines = ({ summary: { id }, attempts = [] }: Shown, { out, commandText }: Context): readonly string[] => {
  const turns = [...Map.groupBy(attempts, ({ turn }) => turn)];
  const lines = turns.map(([turn, each]) => {
    const named = each.map(({ attempt, isLive }) => `turn:${turn}#${attempt}${isLive ? '' : ' (left behind)'}`);
    return `turn ${turn} was retried: ${named.join(', ')}`;
  });
  const [turn, last] = turns[0] ?? [];
  if (turn === undefined || !last || last.length < 2)
    return lines.flatMap((line) => hangingIndent('', line, out.columns));
  const [a, b] = last.slice(-2).map(({ attempt }) => `turn:${turn}#${attempt}`);
  return [...lines, `to compare: ${commandText('diff', id, a!, b!)}`].flatMap((line) =>
    hangingIndent('', line, out.columns),
  );
};

const taintedLine = (id: string, names: readonly string[], commandText: Context['commandText']): string =>
  `tainted by ${names.map(printableLine).join(', ')}: ${commandText('taint', id)}`;

const heading = (shown: Shown, context: Context): readonly string[] => {
  const { summary, waitingInputs: inputs, tools, usage } = shown;
  const { out, now, commandText } = context;
  const {
    id,
    turn,
    messages,
    seq,
    createdAt,
    updatedAt,
    parent,
    forkedAt,
    metadata,
    waiting,
    waitingOn,
    plan,
    handoff,
    tainted,
  } = summary;
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
    ...(sessionName(summary) ? wrap(printableLine(sessionName(summary)), out.columns) : []),
    ...hangingIndent(`${statusText(summary)} · `, counts.join(' · '), out.columns, `${paintSummary(summary, out)} · `),
    ...damageNotes(summary, commandText).flatMap((note) => wrap(note, out.columns)),
    ...hangingIndent('', workers(summary, tools), out.columns),
    ...(tainted ? hangingIndent('', taintedLine(id, tainted, commandText), out.columns) : []),
    ...(plan && plan.total > 0 ? [`plan: ${plan.done} of ${plan.total} done`] : []),
    ...heldLines(summary, context),
    ...(waiting && !handoff
      ? hangingIndent('', waitLine(summary, commandText(waiting === 'budget' ? 'limit' : 'attach', id)), out.columns)
      : []),
    ...(waitingOn && !handoff ? hangingIndent('  ', printableLine(waitingOn), out.columns) : []),
    ...(inputs > 0 ? [`${count(inputs, 'input')} ${inputs === 1 ? 'waits' : 'wait'}`] : []),
    ...(used ? wrap(used, out.columns) : []),
    ...attemptLines(shown, context),
    ...(parent ? wrap(`forked from ${printableLine(parent)} at seq:${forkedAt}`, out.columns) : []),
    ...(metadata ? [truncate(`metadata ${printableJson(metadata)}`, out.columns)] : []),
  ];
};

export const show = defineCommand({
  name: 'show',
  summary: 'show what a session is about and its transcript',
  args: ['SESSION'],
  options: {
    at: text('POINT', 'the transcript at turn:3 (or just 3), seq:17, or turn:5#1 for an attempt'),
    last: text('N', 'only the last N turns'),
    limit: text('N', 'at most N messages, up to 1000; default 1000'),
    cursor: text('CURSOR', 'continue with older messages from this cursor, given by an earlier answer'),
  },
  examples: [
    'perdure show ses_…',
    'perdure show ses_… --last 2',
    'perdure show ses_… --at turn:3',
    'perdure show ses_… --at turn:5#1',
  ],
  needsNoAgents: true,
  json: z.strictObject({
    summary: SummaryView,
    waitingInputs: z.int().nonnegative(),
    tools: z.array(z.string()).optional(),
    attempts: AttemptsView.shape.attempts.optional(),
    usage: UsageView.optional(),
    transcript: TranscriptView.shape.entries,
    cursor: TranscriptView.shape.cursor,
    damage: DamageView.optional(),
  }),
  run: async (context, { args, options }) => {
    const at = optionalPoint(options.at);
    const lastTurns = parseCount('--last', options.last, 1);
    const session = await context.session(args[0]!);
    const summary = await session.summary();
    const limit = parseCount('--limit', options.limit, 1);
    const { page, damage } = await readTranscript(session, { at, lastTurns, limit, cursor: options.cursor });
    const { entries: transcript, cursor } = page;
    const waitingInputs = (await unlessDamaged(session.inputs(), [])).length;
    const usage = await unlessDamaged(omitForbidden(session.usage()), undefined);
    const tools = await unlessDamaged(toolsOf(context, session, summary), undefined);
    const { attempts } = await unlessDamaged(session.attempts({ limit: shownAttempts }), { attempts: [] });
    const shown = {
      summary,
      waitingInputs,
      ...(tools && { tools }),
      ...(attempts.length > 0 && { attempts }),
      ...(usage && { usage }),
    };
    const failure = context.json ? undefined : await unlessDamaged(lastFailure(session, summary.seq), undefined);
    await context.answer({ ...shown, transcript, ...(cursor && { cursor }), ...(damage && { damage }) }, () => [
      ...heading(shown, context),
      ...(failure ? wrap(failure, context.out.columns).map((line) => context.out.style('red', line)) : []),
      ...(damage ? damageLines(damage, context.out).map((line) => context.out.style('red', line)) : []),
      ...(damage
        ? wrap(`to continue before it: ${context.commandText('repair', session.id)}`, context.out.columns)
        : []),
      ...(at ? [context.out.style('bold', `the transcript at ${pointName(at)}`)] : []),
      ...(transcript.length === 0 ? ['no messages'] : renderTranscript(transcript, context.out)),
    ]);
    await noteOlder(context, ['show', args[0]], options, cursor);
  },
});
