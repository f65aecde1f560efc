import { ImportedView } from '../../../schema/views/session.ts';
import { openBundle } from '../../files/open-bundle.ts';
import { type Context, defineCommand } from '../../parse/command.ts';
import { count } from '../../render/quantity.ts';
import { wrap } from '../../terminal/display-width.ts';
import { printableLine } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';

/**
 * Imports a bundle. The whole bundle is checked before the store is opened, so that a damaged bundle does not create
 * a store.
 */
const importChecked = async ({ sessions }: Context, source: AsyncIterable<Uint8Array>) => {
  const { checkBundle } = await import('../../../core/bundles/import-bundle.ts');
  const kept = await checkBundle(source);
  try {
    return await (await sessions()).import(kept.read());
  } finally {
    await kept.close();
  }
};

const events = (added: number): string => (added === 0 ? 'already here' : `${count(added, 'event')} added`);

export const importCommand = defineCommand({
  name: 'import',
  summary: 'import the sessions of an exported file: all of it or nothing',
  args: ['FILE'],
  options: {},
  notes: [
    'If FILE is -, it is read from stdin. Importing twice changes nothing.',
    'An import starts nothing. An unfinished run goes on when the session next gets an input, or is paused and resumed: do this only with a file that you trust.',
  ],
  examples: ['perdure import work.perdure', 'ssh elsewhere perdure export ses_… | perdure import -'],
  makesStore: true,
  json: ImportedView,
  run: async (context, { args }) => {
    const file = args[0]!;
    const source = file === '-' ? context.stdin() : await openBundle(file);
    const imported = await withProgress(
      context.err,
      () => `importing ${printableLine(file)}`,
      () => importChecked(context, source),
    );
    await context.answer(imported, () =>
      imported.sessions.flatMap(({ session, added }) => wrap(`${session}  ${events(added)}`, context.out.columns)),
    );
  },
});
