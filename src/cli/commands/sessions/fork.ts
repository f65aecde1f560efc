import { z } from 'zod';
import { RunId } from '../../../schema/ids.ts';
import { DamageView } from '../../../schema/views/maintenance.ts';
import { ForkView } from '../../../schema/views/session.ts';
import { unlessDamaged } from '../../backing/unless-damaged.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { optionalPoint } from '../../parse/point.ts';
import { damageLines } from '../../render/damage-text.ts';
import { happenedLines, notUndone } from '../../render/happened-lines.ts';
import { count } from '../../render/quantity.ts';

export const fork = defineCommand({
  name: 'fork',
  summary: 'start a new session from a point of another, and print its id',
  args: ['SESSION'],
  options: {
    at: text(
      'POINT',
      'turn:3 (or just 3) for the end of a turn, seq:17 for an event, turn:5#1 for an attempt; default now',
    ),
    title: text('TEXT', 'a title of its own'),
  },
  notes: [
    'Inputs that are waiting at that point stay behind: the fork does not answer them.',
    'Calls with effects beyond the point are listed on stderr; `perdure happened SESSION --after POINT` lists them before.',
    'Without --at, a fork of a damaged session continues from its last good event, and says what is lost.',
  ],
  examples: [
    'perdure fork ses_…',
    `perdure fork ses_… --at turn:3 --title 'The other way'`,
    'perdure fork ses_… --at turn:5#1',
  ],
  json: ForkView.extend({ leftBehind: z.array(RunId), damage: DamageView.optional() }).meta({
    id: 'Fork',
    description:
      'The new session, the calls with effects beyond its point, the runs of inputs that already waited at its point and still wait in its parent, and the damage of the parent if the fork continues before it.',
  }),
  run: async (context, { args, options: { at, title } }) => {
    const point = optionalPoint(at);
    const session = await context.session(args[0]!);
    const child = await session.fork({ at: point, title });
    const summary = await child.summary();
    const happened = await child.happened();
    const damage = summary.lost?.session === session.id ? await session.damage() : undefined;
    const waited = (await unlessDamaged(session.inputs(), [])).filter(({ seq }) => seq <= summary.forkedAt!);
    const leftBehind = waited.map(({ run }) => run);
    await context.answer({ ...summary, happened, leftBehind, ...(damage && { damage }) }, () => child.id);
    for (const line of damage ? damageLines(damage, context.err) : []) await context.note(line);
    for (const line of happenedLines(notUndone, happened, context.err)) await context.note(line);
    if (waited.length > 0) {
      await context.note(`left behind: ${count(waited.length, 'input')} waiting in ${session.id}`);
    }
    if (summary.status === 'paused') {
      await context.note(
        `it starts in the middle of a turn, so it is paused: \`${context.commandText('resume', child.id)}\` lets it go on`,
      );
    }
  },
});
