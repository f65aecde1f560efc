import { RebuiltView } from '../../../schema/views/maintenance.ts';
import { defineCommand, flag } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { withProgress } from '../../terminal/progress.ts';

export const repair = defineCommand({
  name: 'repair',
  summary: 'rebuild from the logs what is kept beside them',
  args: [],
  options: { projections: flag('the tables that listings and queries read; required') },
  examples: ['perdure repair --projections'],
  json: RebuiltView,
  run: async (context, { options: { projections } }) => {
    if (!projections)
      throw wrongCall('repair needs --projections, the only thing that it can repair: see `perdure help repair`');
    const sessions = await context.sessions();
    const events = await withProgress(
      context.err,
      () => 'reading the logs',
      () => sessions.rebuildProjections(),
    );
    await context.answer({ events }, () => `projections rebuilt from ${count(events, 'event')}`);
  },
});
