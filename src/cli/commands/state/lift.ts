import { provenances } from '../../../schema/state.ts';
import { CommitView } from '../../../schema/views/session.ts';
import { choice, defineCommand, text } from '../../parse/command.ts';
import { parsePath } from '../../parse/commit-filter.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { printableLine } from '../../terminal/printable.ts';

export const lift = defineCommand({
  name: 'lift',
  summary: 'raise how far entries of the state are trusted, and say why',
  args: ['SESSION', 'ENTRY…'],
  options: {
    to: choice('LEVEL', provenances, `${provenances.join(', ')}, from the least to the most trusted; required`),
    why: text('TEXT', 'why they are trusted now, for the log; required'),
  },
  notes: [
    'ENTRY is the path of an entry, such as /facts/port: a JSON Pointer, in which ~1 stands for a slash and ~0 for a tilde.',
  ],
  examples: [`perdure lift ses_… /facts/port --to human --why 'read it myself'`],
  json: CommitView,
  run: async (context, { args: [named, ...given], options: { to, why } }) => {
    if (!to) throw wrongCall(`lift needs --to LEVEL: one of ${provenances.join(', ')}`);
    if (!why) throw wrongCall('lift needs --why TEXT: the log says why the entries are trusted now');
    const paths = given.map(parsePath);
    const session = await context.session(named!);
    const commit = await session.lift(paths, { to, why });
    await context.answer(commit, () => `${printableLine(paths.join(', '))} is ${to} now, by event ${commit.seq}`);
  },
});
