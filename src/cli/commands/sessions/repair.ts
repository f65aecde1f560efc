import { z } from 'zod';
import { RebuiltView, RepairView } from '../../../schema/views/maintenance.ts';
import { type Context, defineCommand, flag } from '../../parse/command.ts';
import type { Ending } from '../../parse/exit-codes.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { damageLines } from '../../render/damage-text.ts';
import { count } from '../../render/quantity.ts';
import { withProgress } from '../../terminal/progress.ts';

const rebuild = async (context: Context): Promise<undefined> => {
  const sessions = await context.sessions();
  const events = await withProgress(
    context.err,
    () => 'reading the logs',
    () => sessions.rebuildProjections(),
  );
  await context.answer({ events }, () => `projections rebuilt from ${count(events, 'event')}`);
};

const repairSession = async (context: Context, named: string, isDry: boolean): Promise<Ending | undefined> => {
  const session = await context.session(named);
  const { damage, fork } = await withProgress(
    context.err,
    () => 'reading the log',
    async () => (isDry ? { damage: await session.damage(), fork: undefined } : session.repair()),
  );
  const summary = await fork?.summary();
  const isMended = !damage && (await session.summary()).damaged !== undefined;
  await context.answer({ damage, fork: summary }, () => {
    if (!damage) return `${session.id} is not damaged: its log is whole`;
    const lines = damageLines(damage, context.out);
    return summary ? [...lines, `continued from event ${summary.forkedAt} as ${summary.id}`] : lines;
  });
  if (isMended)
    await context.note(
      `it stays quarantined, although its log is whole again: \`${context.commandText('fork', session.id)}\` continues all of it`,
    );
  if (summary?.status === 'paused')
    await context.note(
      `the fork starts in the middle of a turn, so it is paused: \`${context.commandText('resume', summary.id)}\` lets it go on`,
    );
  return isDry && damage ? 'failure' : undefined;
};

export const repair = defineCommand({
  name: 'repair',
  summary: 'continue a damaged session before the damage, or rebuild what is kept beside the logs',
  args: ['[SESSION]'],
  options: {
    projections: flag('rebuild the tables that listings and queries read, instead of repairing a session'),
    'dry-run': flag('only say what is damaged and lost; exits with 1 if something is'),
  },
  notes: [
    'The session continues from its last good event as a fork. The session itself is quarantined: nothing of it is deleted, it stays readable up to the damage, and it accepts no more work.',
  ],
  examples: ['perdure repair ses_…', 'perdure repair ses_… --dry-run', 'perdure repair --projections'],
  json: z.union([RebuiltView, RepairView]),
  run: async (context, { args: [named], options: { projections, 'dry-run': isDry = false } }) => {
    if (projections ? named !== undefined || isDry : named === undefined)
      throw wrongCall('repair needs either a session or --projections: see `perdure help repair`');
    return projections ? rebuild(context) : repairSession(context, named!, isDry);
  },
});
