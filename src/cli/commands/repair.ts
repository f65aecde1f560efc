import { RebuiltView } from '../../schema/views/maintenance.ts';
import { defineCommand, flag } from '../command.ts';
import { count } from '../count.ts';
import { withProgress } from '../progress.ts';
import { wrongCall } from '../wrong-call.ts';

export const repair = defineCommand({
  name: 'repair',
  summary: 'make what is kept beside the logs anew from them',
  args: [],
  options: { projections: flag('the tables that listings and queries read; needed') },
  examples: ['perdure repair --projections'],
  json: RebuiltView,
  run: async (context, { options: { projections } }) => {
    if (!projections) throw wrongCall('repair needs --projections: it is the only thing there is to repair');
    const sessions = await context.sessions();
    const events = await withProgress(
      context.err,
      () => 'reading the logs',
      () => sessions.rebuildProjections(),
    );
    await context.answer({ events }, () => `projections made anew from ${count(events, 'event')}`);
  },
});
