import { z } from 'zod';
import { RunId } from '../../../schema/ids.ts';
import { defineCommand } from '../../parse/command.ts';

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'stop the current run of a session at once',
  args: ['SESSION'],
  options: {},
  examples: ['perdure cancel ses_…'],
  json: z.strictObject({ cancelled: RunId.nullable() }),
  run: async (context, { args }) => {
    const run = await (await context.session(args[0]!)).cancel();
    await context.answer({ cancelled: run ?? null }, () => (run ? `${run} is cancelled` : 'there is no run to cancel'));
    return undefined;
  },
});
