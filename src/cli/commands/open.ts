import type { Metadata } from '../../schema/json.ts';
import { defineCommand, text } from '../command.ts';
import { parseJson } from '../read-input.ts';

export const open = defineCommand({
  name: 'open',
  summary: 'open a session and print its id',
  args: [],
  options: {
    title: text('TEXT', 'what a listing shows'),
    metadata: text('JSON', 'an object to keep with the session'),
  },
  examples: [`perdure open --title 'Fix the failing test'`, `perdure open --metadata '{"ticket":"OPS-12"}'`],
  makesStore: true,
  run: async (context, { options: { title, metadata } }) => {
    const parsed = metadata === undefined ? undefined : (parseJson('--metadata', metadata) as Metadata);
    const sessions = await context.sessions();
    const session = await sessions.open({ ...(title !== undefined && { title }), ...(parsed && { metadata: parsed }) });
    await context.answer(await session.summary(), () => session.id);
  },
});
